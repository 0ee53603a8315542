import { randomUUID } from 'node:crypto';
import type {
  AuthInfo,
  JSONRPCMessage,
  JSONRPCRequest,
  JSONRPCResponse,
  MessageExtraInfo,
  RequestId,
  Transport,
} from '@modelcontextprotocol/server';
import type { McpSession } from './ports.js';
import type { Question } from './questions.js';

/** What an exchange needs of the connection that it is on. */
export interface ExchangeLine {
  /** Sends the client a message before its answer. */
  say(message: JSONRPCMessage): void;
  /** Asks the client of the session something, under an id that is unique; absent without a session. */
  ask?(): Promise<Question>;
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
}

/**
 * One request of a client of the revisions with sessions. Each is answered by a server of its own, so what that server asks
 * the client meanwhile goes out under ids that are unique among all servers, and the answers come by the store.
 */
export class SessionExchange implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  sessionId?: string;

  private readonly recallId = randomUUID();
  private readonly recalled = Promise.withResolvers<void>();
  private readonly answered = Promise.withResolvers<JSONRPCResponse>();
  private readonly questions = new Map<RequestId, string>();

  constructor(
    private readonly request: JSONRPCRequest,
    private readonly line: ExchangeLine,
  ) {
    // The caller that waits for the answer sees it fail; without one it is no unhandled rejection.
    this.answered.promise.catch(() => undefined);
  }

  async start(): Promise<void> {}

  /** Lets the new server know what the client said when its session began. */
  async recall({ id, protocolVersion, client }: McpSession): Promise<void> {
    const { name, version, capabilities } = client;
    const params = { protocolVersion, capabilities, clientInfo: { name, version } };
    this.sessionId = id;
    this.onmessage?.({
      jsonrpc: '2.0',
      id: this.recallId,
      method: 'initialize',
      params,
    } satisfies JSONRPCRequest);
    await this.recalled.promise;
  }

  /** Hands the request to the server; its answer. Rejects when it is closed before. */
  serve(authInfo: AuthInfo): Promise<JSONRPCResponse> {
    this.onmessage?.(this.request, { authInfo });
    return this.answered.promise;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!('method' in message)) this.take(message);
    else if ('id' in message) await this.ask(message);
    else this.line.say(this.renamed(message));
  }

  async close(): Promise<void> {
    this.answered.reject(new ExchangeClosed());
    this.onclose?.();
  }

  private take(answer: JSONRPCResponse): void {
    if (answer.id === this.recallId) this.recalled.resolve();
    else if (answer.id === this.request.id) this.answered.resolve(answer);
  }

  private async ask(message: JSONRPCRequest): Promise<void> {
    if (!this.line.ask) throw new Error('There is no session, so the client cannot be asked');
    const question = await this.line.ask();
    this.questions.set(message.id, question.id);
    this.line.say({ ...message, id: question.id });
    void question
      .answered(this.line.gone)
      .then(answer => answer && this.onmessage?.({ ...answer, id: message.id } as JSONRPCResponse))
      .catch((error: Error) => this.onerror?.(error));
  }

  /** What takes a question back names it as the client knows it. */
  private renamed(message: JSONRPCMessage): JSONRPCMessage {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return message;
    const id = this.questions.get((message.params as { requestId: RequestId }).requestId);
    return id === undefined ? message : { ...message, params: { ...message.params, requestId: id } };
  }
}

/** The client has gone, or has taken its request back. */
export class ExchangeClosed extends Error {}
