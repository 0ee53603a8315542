import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import {
  type CallToolResult,
  Client,
  type ClientOptions,
  type RequestOptions,
  type StandardSchemaV1,
  StreamableHTTPClientTransport,
  type Tool,
} from '@modelcontextprotocol/client';
import { unmarked } from '#libs/exact-json/index.js';
import type { GuardedFetch } from '#libs/guarded-fetch/index.js';
import type { Secret } from '../../../platform/vault/index.js';
import { bounded } from './bounded-answers.js';
import { ConnectorFault, toFault } from './connector-fault.js';

/** What requests carry. It is revealed where they are sent and nowhere else. */
export interface Credential {
  readonly token?: Secret;
  readonly headers?: Readonly<Record<string, Secret>>;
}

/** For whom requests are made, and until when. */
export interface Authority {
  readonly credential: Credential;
  readonly signal: AbortSignal;
}

export type Era = 'modern' | 'legacy';

/** What a server says of itself. */
export interface ServerFacts {
  readonly era: Era;
  readonly protocol: string;
  readonly name: string;
  readonly title: string | null;
  readonly version: string;
  readonly instructions: string | null;
}

/** A tool as it is called: by its pinned definition. */
export interface RemoteCall {
  readonly name: string;
  readonly input: Record<string, unknown>;
  readonly schema: Tool['inputSchema'];
}

/** Largest answer, in bytes: a picture of three megabytes fits. */
const MAX_ANSWER = 4 * 1024 * 1024;
const CONNECT_MS = 20_000;
/** For all pages. */
const LIST_MS = 30_000;
const MAX_PAGES = 20;
/** How long a call may take without a word of progress, and with. */
const CALL_MS = 60_000;
const MAX_CALL_MS = 10 * 60_000;
/** How long the word that a call is cancelled may take to go out. */
const CANCEL_MS = 2_000;
/** What was sent before a stream ended is read in that time. */
const SETTLE_MS = 1_000;

/** A request that is under way, as the requests of the transport find it. */
interface Exchange {
  readonly credential: Credential;
  readonly signal: AbortSignal;
  fail(error: unknown): void;
}

const exchanges = new AsyncLocalStorage<Exchange>();

/** Structured results are data like any other: what their schema says of them holds nothing up. */
const ANY_OUTPUT: ClientOptions['jsonSchemaValidator'] = {
  getValidator:
    <T>() =>
    (data: unknown) => ({ valid: true, data: data as T & {}, errorMessage: undefined }),
};

interface ToolList {
  readonly tools: readonly unknown[];
  readonly nextCursor: string | undefined;
}

/** Stands before a number on its way through the protocol's client; nothing that a server could guess. */
const MARK = `number-${randomUUID()}:`;

/** A message with its numbers: what a tool answers keeps their digits, all else has doubles, as the protocol's client. */
function withNumbers<T extends object>(message: T): T {
  const { result, ...rest } = message as { result?: { structuredContent?: unknown } };
  const plain = unmarked(rest, MARK, false) as T;
  if (typeof result !== 'object' || result === null) return plain;
  const { structuredContent, ...others } = result;
  const answer = unmarked(others, MARK, false);
  const structured = unmarked(structuredContent, MARK, true);
  return {
    ...plain,
    result: structuredContent === undefined ? answer : { ...answer, structuredContent: structured },
  };
}

/** Where the tools of a listing stand while the protocol's client checks the rest of it. */
const UNREAD_TOOLS = 'atelier/tools';

/** A listing whose tools the protocol's client does not look at: one that is odd does not hide the others. */
function withUnreadTools<T extends object>(message: T): T {
  const { result } = message as { result?: { tools?: unknown } };
  if (!Array.isArray(result?.tools)) return message;
  return { ...message, result: { ...result, tools: [], [UNREAD_TOOLS]: result.tools } };
}

const TOOL_LIST: StandardSchemaV1<unknown, ToolList> = {
  '~standard': {
    version: 1,
    vendor: 'atelier',
    validate: page => {
      const { [UNREAD_TOOLS]: tools, nextCursor } = (page ?? {}) as Record<string, unknown>;
      if (!Array.isArray(tools)) return { issues: [{ message: 'tools is no list' }] };
      return { value: { tools, nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined } };
    },
  },
};

/**
 * A connection to one remote server, in either era of the protocol. It offers the server nothing in return: no sampling, no
 * roots, no elicitation. What goes wrong is thrown as a {@link ConnectorFault}.
 */
export class RemoteServer {
  private constructor(
    private readonly client: Client,
    private readonly transport: StreamableHTTPClientTransport,
    private last: Credential,
  ) {}

  static async connect(outgoing: GuardedFetch, url: string, authority: Authority): Promise<RemoteServer> {
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      fetch: (target, init) => sent(outgoing, target, init),
      authProvider: { token: async () => exchanges.getStore()?.credential.token?.reveal() },
      onInsufficientScope: 'throw',
      // A broken stream is taken up once more at once, and then given up.
      reconnectionOptions: {
        initialReconnectionDelay: 500,
        maxReconnectionDelay: 2_000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: 2,
      },
    });
    const client = new Client(
      { name: 'atelier', version: '1' },
      {
        capabilities: {},
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: CONNECT_MS } },
        inputRequired: { autoFulfill: false },
        jsonSchemaValidator: ANY_OUTPUT,
      },
    );
    // What is wrong with a request is thrown by the request.
    client.onerror = () => undefined;
    const server = new RemoteServer(client, transport, authority.credential);
    try {
      await server.exchange(authority, options => client.connect(transport, options), {
        timeout: CONNECT_MS,
      });
      const { onmessage } = transport;
      transport.onmessage = message => onmessage?.(withUnreadTools(withNumbers(message)));
      return server;
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  get facts(): ServerFacts {
    const { name = '', title = null, version = '' } = this.client.getServerVersion() ?? {};
    return {
      name,
      title,
      version,
      era: this.client.getProtocolEra() === 'modern' ? 'modern' : 'legacy',
      protocol: this.client.getNegotiatedProtocolVersion() ?? '',
      instructions: this.client.getInstructions() ?? null,
    };
  }

  /** What it says of each of its tools, asked for now and not looked at; at most `most`. */
  async tools(most: number, authority: Authority): Promise<unknown[]> {
    if (!this.client.getServerCapabilities()?.tools) return [];
    const until = performance.now() + LIST_MS;
    const found: unknown[] = [];
    const cursors = new Set<string | undefined>();
    let cursor: string | undefined;
    while (!cursors.has(cursor) && cursors.size < MAX_PAGES && found.length < most) {
      cursors.add(cursor);
      const params = cursor === undefined ? {} : { cursor };
      const request = { method: 'tools/list', params };
      const { tools, nextCursor } = await this.exchange(
        authority,
        options => this.client.request(request, TOOL_LIST, options),
        { timeout: Math.max(1, until - performance.now()) },
      );
      found.push(...tools.slice(0, most - found.length));
      cursor = nextCursor;
      if (cursor === undefined) break;
    }
    return found;
  }

  /** Calls a tool; `onProgress` is told what the server says meanwhile, which also gives it more time. */
  call(
    { name, input, schema: inputSchema }: RemoteCall,
    authority: Authority,
    onProgress?: (message: string) => void,
  ): Promise<CallToolResult> {
    const request = { name, arguments: input };
    const toolDefinition = { name, inputSchema };
    return this.exchange(
      authority,
      options => this.client.callTool(request, { ...options, toolDefinition }),
      {
        timeout: CALL_MS,
        resetTimeoutOnProgress: true,
        maxTotalTimeout: MAX_CALL_MS,
        onprogress: ({ message }) => {
          if (message) onProgress?.(message);
        },
      },
    );
  }

  async close(): Promise<void> {
    const signal = AbortSignal.timeout(CANCEL_MS);
    await exchanges.run({ credential: this.last, signal, fail: () => undefined }, async () => {
      try {
        await this.transport.terminateSession();
      } catch {
        // The session ends by itself, then.
      }
      await this.client.close().catch(() => undefined);
    });
  }

  /** One request of the client with all that it sends; its connections end with it. */
  private async exchange<T>(
    { credential, signal }: Authority,
    work: (options: RequestOptions) => Promise<T>,
    options: RequestOptions,
  ): Promise<T> {
    this.last = credential;
    const over = new AbortController();
    let fail: (error: unknown) => void = () => undefined;
    const failure = new Promise<never>((_, reject) => {
      fail = reject;
    });
    failure.catch(() => undefined);
    try {
      const begun = exchanges.run({ credential, signal: over.signal, fail }, () =>
        work({ ...options, signal }),
      );
      const result = await Promise.race([begun, failure]);
      over.abort();
      return result;
    } catch (error) {
      setTimeout(() => over.abort(), CANCEL_MS).unref();
      signal.throwIfAborted();
      throw toFault(error);
    }
  }
}

/** One request of the transport. The stream that servers push to us by themselves is not opened. */
async function sent(outgoing: GuardedFetch, url: string | URL, init: RequestInit = {}): Promise<Response> {
  const isStream = (init.method ?? 'GET') === 'GET';
  if (isStream && !new Headers(init.headers).has('last-event-id')) return new Response(null, { status: 405 });
  const exchange = exchanges.getStore();
  const signals = [init.signal, exchange?.signal].filter(signal => signal instanceof AbortSignal);
  const headers = new Headers(init.headers);
  for (const [name, secret] of Object.entries(exchange?.credential.headers ?? {}))
    headers.set(name, secret.reveal());
  const limits = { maxBytes: MAX_ANSWER, timeoutMs: MAX_CALL_MS, keepAlive: true };
  const response = await outgoing.fetch(url, {
    ...init,
    headers,
    signal: AbortSignal.any(signals),
    ...limits,
  });
  return bounded(response, {
    mark: MARK,
    failed: error => exchange?.fail(error),
    ended: () => {
      const early = new ConnectorFault('unreachable', 'The server ended its answer before it was complete');
      setTimeout(() => exchange?.fail(early), SETTLE_MS).unref();
    },
  });
}
