import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { ClientCapabilities, JSONRPCResponse, Server, ServerEvent } from '@modelcontextprotocol/server';

/** A request and its reply, as Fastify has them. */
export interface HttpExchange {
  readonly request: {
    readonly method: string;
    readonly headers: IncomingHttpHeaders;
    readonly body?: unknown;
    readonly raw: IncomingMessage;
  };
  readonly reply: {
    readonly raw: ServerResponse;
    readonly sent: boolean;
    status(code: number): HttpExchange['reply'];
    header(name: string, value: string): HttpExchange['reply'];
    getHeaders(): Record<string, number | string | readonly string[] | undefined>;
    hijack(): HttpExchange['reply'];
    send(body?: unknown): PromiseLike<unknown> | unknown;
  };
}

/** What the host knows of a request: who sends it, and whatever else it wants to know when it answers. */
export interface Call {
  /** Aborted when the client has gone, or takes the request back. */
  readonly signal: AbortSignal;
}

/** The implementation that answers: tools, resources and prompts. */
export interface McpHost<C extends Call> {
  /** A server of the SDK for this one call. Subscriptions are added to it. */
  server(call: C): Server;
  /** Whose sessions the caller may use. */
  ownerOf(call: C): string;
}

/** The lists that can change during a session; the tools are always the same. */
export const LISTS = ['resources', 'prompts'] as const;
export type ListName = (typeof LISTS)[number];

/** What has changed: a resource, or one of the lists. */
export type Change = { readonly uri: string } | { readonly list: ListName };

/** How far each source has been read, so that a watch that begins anew goes on where the last one ended. */
export type Positions = Map<string, number>;

export interface Watch {
  /** Aborted when the watch ends. */
  readonly signal: AbortSignal;
  readonly notice: (change: Change) => void;
  readonly positions?: Positions;
}

/** Tells what changes of what a caller may see. */
export interface ChangeSource<C extends Call> {
  /** Rejects, with a ProtocolError for the client, where the caller may not follow the resource. */
  requireVisible(call: C, uri: string): Promise<void>;
  isVisible(call: C, uri: string): Promise<boolean>;
  /** Calls `notice` until `signal` is aborted; passes over what the caller may not, or no longer, read. */
  followResources(call: C, uris: readonly string[], watch: Watch): Promise<void>;
  /** Once it resolves, every later change of these lists is noticed. `over` rejects where that fails. */
  followLists(call: C, lists: readonly ListName[], watch: Watch): Promise<{ over: Promise<void> }>;
  /** Events of the host itself, for every client; returns what ends it. */
  followHost(listener: (event: ServerEvent) => void): () => void;
  /** Calls `lost` once the caller's credential is revoked or has expired; returns what ends it. */
  untilLost(call: C, lost: () => void): () => void;
}

/** Waits for something that happens in any process. What happens between two waits ends the next one at once. */
export interface WakeUp {
  wait(signal: AbortSignal): Promise<void>;
  wake(): void;
  close(): void;
}

/** A stream of server-sent events that has begun. */
export interface MessageStream {
  /** Aborted when the client has gone, or the stream has ended. */
  readonly signal: AbortSignal;
  send(message: object): Promise<void>;
  end(): void;
}

/** The streams that are open. Both throw what the client is answered where there are too many. */
export interface Streams<C extends Call> {
  /** Takes the reply over and sends its head. */
  start(http: HttpExchange): MessageStream;
  /** Counts a stream that the SDK opens; returns what releases it. */
  reserve(call: C): () => void;
}

/** What a client said of itself when its session began. */
export interface SessionClient {
  readonly name: string;
  readonly version: string;
  readonly capabilities: ClientCapabilities;
}

/** A session of a client of a revision that knows sessions. */
export interface McpSession {
  readonly id: string;
  readonly ownerId: string;
  readonly protocolVersion: string;
  readonly client: SessionClient;
}

/** What changes of a session: the resources that it follows, and which of its streams tells of them. */
export interface SessionState {
  readonly subscriptions: readonly string[];
  readonly streamId: string | null;
}

/** Sessions, kept where every process finds them. */
export interface SessionStore {
  begin(ownerId: string, protocolVersion: string, client: SessionClient): Promise<McpSession>;
  find(id: string): Promise<McpSession | undefined>;
  end(session: McpSession): Promise<void>;
  /** Undefined once it has ended. */
  state(id: string): Promise<SessionState | undefined>;
  /** Whether it follows the resource now: false where it follows `max` others. */
  subscribe(id: string, uri: string, max: number): Promise<boolean>;
  unsubscribe(id: string, uri: string): Promise<void>;
  /** Makes this the stream that tells the session, so that one before it ends; whether there was one. */
  takeStream(id: string, streamId: string): Promise<boolean>;
  /** Woken by each of these changes. */
  wakeUp(id: string): WakeUp;
}

/** What a client answered: a response of JSON-RPC without its id. */
export type Answer = Pick<JSONRPCResponse, 'jsonrpc'> & ({ result: unknown } | { error: unknown });

/** What the clients of sessions are asked, and what they answer, to whichever process. */
export interface QuestionStore {
  ask(id: string, sessionId: string): Promise<void>;
  /** Keeps the first answer to a question that this session was asked; passes over any other. */
  answer(sessionId: string, id: unknown, answer: Answer): Promise<void>;
  /** null while there is none; undefined where there is no such question. */
  answerTo(id: string): Promise<Answer | null | undefined>;
  forget(id: string): Promise<void>;
  /** Woken by the answer. */
  wakeUp(id: string): WakeUp;
}

/** Requests that clients take back while any process works on them, each by a name of its own. */
export interface Cancellations {
  cancel(name: string): Promise<void>;
  /** Returns what ends it. */
  onCancel(name: string, listener: () => void): () => void;
}

export interface McpLog {
  debug(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

/** All that the transport needs of its user. */
export interface McpPorts<C extends Call> {
  readonly host: McpHost<C>;
  readonly changes: ChangeSource<C>;
  readonly streams: Streams<C>;
  readonly sessions: SessionStore;
  readonly questions: QuestionStore;
  readonly cancellations: Cancellations;
  readonly log: McpLog;
}

/** What a client is answered by HTTP alone, without a message of the protocol. */
export class McpHttpError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}
