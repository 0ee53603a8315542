import {
  isInitializeRequest,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { AnswerLine } from './answer-line.js';
import { authOf } from './exchange.js';
import { type Call, type HttpExchange, McpHttpError, type McpPorts, type McpSession } from './ports.js';
import { askClient } from './questions.js';
import { RequestsUnderWay } from './requests-under-way.js';
import { ExchangeClosed, SessionExchange } from './session-exchange.js';
import { SessionStream } from './session-stream.js';
import { requireSession } from './sessions.js';

/** What asks the client something on its way may be one of these; for the others there is nothing to recall. */
const ASKING = ['tools/call', 'prompts/get'];
const MAX_NAME = 200;

/**
 * Streamable HTTP of the revisions up to 2025-11-25. By the id of a session any process finds in the store what the client said
 * of itself. A client without a session is answered too, but cannot be asked anything, and has no stream.
 */
export class SessionEndpoint<C extends Call> {
  private readonly stream: SessionStream<C>;

  constructor(
    private readonly server: (call: C) => Server,
    private readonly underWay: RequestsUnderWay,
    private readonly ports: McpPorts<C>,
  ) {
    this.stream = new SessionStream(ports);
  }

  async answer(call: C, http: HttpExchange): Promise<void> {
    const { method, headers } = http.request;
    const { host, sessions } = this.ports;
    const id = headers['mcp-session-id'];
    requireRevision(headers['mcp-protocol-version']);
    const session =
      id === undefined ? undefined : await requireSession(sessions, host.ownerOf(call), String(id));
    if (method === 'POST') return this.take(call, session, http);
    if (method === 'GET' && session) return this.stream.serve(call, session, http);
    if (method !== 'DELETE' || !session)
      throw new McpHttpError(405, `There is nothing to ${method} here without a session`, { allow: 'POST' });
    await sessions.end(session);
    await http.reply.status(204).send();
  }

  private async take(call: C, session: McpSession | undefined, http: HttpExchange): Promise<void> {
    const { body, headers } = http.request;
    if (isJSONRPCRequest(body)) {
      requireAccept(headers.accept);
      return this.serve(call, session, body, http);
    }
    if (isJSONRPCResultResponse(body) || isJSONRPCErrorResponse(body)) await this.takeAnswer(session, body);
    else if (isJSONRPCNotification(body)) await this.takeNotification(session, body);
    else throw new McpHttpError(400, 'The body is not a message of JSON-RPC 2.0');
    await http.reply.status(202).send();
  }

  private async serve(
    call: C,
    session: McpSession | undefined,
    message: JSONRPCRequest,
    http: HttpExchange,
  ): Promise<void> {
    const { streams, questions, log } = this.ports;
    const line = new AnswerLine(http.reply, () => streams.start(http));
    const taken = this.underWay.begin(session?.id, message.id);
    const signal = AbortSignal.any([call.signal, taken.signal]);
    const ask = session && (() => askClient(questions, session.id));
    const exchange = new SessionExchange(message, { say: said => line.say(said), gone: signal, ask });
    const cancellable: C = { ...call, signal };
    try {
      const server = this.server(cancellable);
      server.onerror = error => log.debug({ err: error }, 'MCP request refused');
      await server.connect(exchange);
      signal.addEventListener('abort', () => void exchange.close(), { once: true });
      if (session && ASKING.includes(message.method)) await exchange.recall(session);
      else exchange.sessionId = session?.id;
      const answer = await exchange.serve(authOf(cancellable));
      if (isInitializeRequest(message)) await this.begin(call, message, answer, http.reply);
      await line.end(answer);
    } catch (error) {
      if (!(error instanceof ExchangeClosed)) throw error;
      await line.drop();
    } finally {
      taken.forget();
      await exchange.close();
    }
  }

  /** A client that was welcomed gets a session. */
  private async begin(
    call: C,
    { params }: JSONRPCRequest,
    answer: JSONRPCResponse,
    reply: HttpExchange['reply'],
  ): Promise<void> {
    if (!('result' in answer) || !isWelcome(answer.result)) return;
    const { clientInfo = {}, capabilities = {} } = params as Introduction;
    const { elicitation, sampling, roots } = capabilities;
    const { host, sessions } = this.ports;
    const session = await sessions.begin(host.ownerOf(call), answer.result.protocolVersion, {
      name: String(clientInfo.name ?? '').slice(0, MAX_NAME),
      version: String(clientInfo.version ?? '').slice(0, MAX_NAME),
      // Nothing else of what a client says is ever looked at.
      capabilities: {
        ...(elicitation ? { elicitation: modesOf(elicitation) } : {}),
        ...(sampling ? { sampling: {} } : {}),
        ...(roots ? { roots: {} } : {}),
      },
    });
    void reply.header('mcp-session-id', session.id);
  }

  private async takeAnswer(session: McpSession | undefined, message: JSONRPCResponse): Promise<void> {
    if (!session) return;
    const { id, ...answer } = message;
    await this.ports.questions.answer(session.id, id, answer);
  }

  private async takeNotification(
    session: McpSession | undefined,
    { method, params }: JSONRPCNotification,
  ): Promise<void> {
    if (method === 'notifications/cancelled' && session)
      await this.underWay.cancel(session.id, (params as { requestId?: unknown } | undefined)?.requestId);
  }
}

/** What a client says of itself: as much of it as counts, and nothing of it is checked. */
interface Introduction {
  readonly clientInfo?: { readonly name?: unknown; readonly version?: unknown };
  readonly capabilities?: {
    readonly elicitation?: { readonly form?: unknown; readonly url?: unknown };
    readonly sampling?: unknown;
    readonly roots?: unknown;
  };
}

/** The ways in which a client can ask its person: an empty object means by forms. */
const modesOf = ({ form, url }: { form?: unknown; url?: unknown }) => ({
  ...(form ? { form: {} } : {}),
  ...(url ? { url: {} } : {}),
});

const isWelcome = (result: object): result is { protocolVersion: string } =>
  'protocolVersion' in result && typeof result.protocolVersion === 'string';

function requireRevision(revision: string | string[] | undefined): void {
  if (revision === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(revision))) return;
  throw new McpHttpError(
    400,
    `MCP-Protocol-Version names a revision that is not spoken here; there are ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')}`,
  );
}

/** A client says that it takes both kinds of answer, as either may come (streamable HTTP). */
function requireAccept(accept = ''): void {
  const takes = (type: string) => accept.includes(type) || accept.includes('*/*');
  if (!takes('application/json') || !takes('text/event-stream'))
    throw new McpHttpError(406, 'Accept must name application/json and text/event-stream');
}
