import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { parseJson } from '#libs/exact-json/index.js';

export interface FakeToolCall {
  name: string;
  /** Arguments; a string is sent as it is, so that broken JSON can be scripted. */
  input: unknown;
  id?: string;
}

/** One scripted answer. An empty object is an empty answer. */
export interface FakeReply {
  /** Streamed word by word. */
  text?: string;
  reasoning?: string;
  /** What the protocol returns with the reasoning for the next turn (a signature, encrypted content). */
  signature?: string;
  tool?: FakeToolCall;
  /** Several calls in one answer. */
  tools?: FakeToolCall[];
  /** The protocol's own reason for the end, in place of the fitting one. */
  finish?: string;
  usage?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number; reasoning?: number };
  /** An HTTP error (any status but 200) with its headers and body. */
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** An error event inside the stream, after the content. */
  error?: { type: string; message: string; code?: string };
  /** Breaks the connection after that many deltas. */
  cutAfter?: number;
  /** Ends the response properly after that many deltas, without an end of the answer. */
  endAfter?: number;
  /** Falls silent after that many deltas, until {@link ScriptedServer.drop} or a client that gives up. */
  hangAfter?: number;
  /** Never answers at all. */
  hang?: boolean;
  /** Answers only when this has resolved. */
  after?: Promise<unknown>;
  /** Raw lines sent before the first event, such as `: keep-alive`. */
  preamble?: string;
}

export interface FakeRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The parsed JSON; empty when there was none. */
  body: Record<string, unknown>;
}

/** One server-sent event; `delta` marks those that a reader would see. */
export interface FakeEvent {
  event?: string;
  data: unknown;
  delta?: boolean;
}

/** A reply, or a function that finds one by looking at the request. */
export type Script = FakeReply | ((request: FakeRequest) => FakeReply);

/** A local HTTP server that gives scripted answers in order, one a request, and remembers what it was asked. */
export abstract class ScriptedServer {
  readonly requests: FakeRequest[] = [];
  readonly #queue: Script[] = [];
  readonly #open = new Set<ServerResponse>();
  readonly #waiting: { count: () => number; wanted: number; resolve: () => void }[] = [];
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #otherwise: Script = {
    status: 400,
    body: { error: { type: 'unscripted', message: 'The fake server has no reply left for this request.' } },
  };
  #hangUps = 0;

  /** The events of a streamed answer, or undefined for a path that the protocol does not have. */
  protected abstract events(request: FakeRequest, reply: FakeReply): FakeEvent[] | undefined;

  /** What is answered at once, whatever is scripted; undefined: nothing is. */
  protected answered(_request: FakeRequest): unknown {
    return undefined;
  }

  /** The default body of an HTTP error. */
  protected abstract errorBody(status: number): unknown;

  protected async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** `http://127.0.0.1:PORT/v1` */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Adds answers to the queue. */
  reply(replies: Script | Script[]): this {
    this.#queue.push(...[replies].flat());
    return this;
  }

  /** Forgets the answers that nobody asked for. */
  clear(): void {
    this.#queue.length = 0;
  }

  /** What to answer when the queue is empty. */
  otherwise(reply: Script): this {
    this.#otherwise = reply;
    return this;
  }

  /** Resolves when that many requests have arrived in all. */
  received(count: number): Promise<void> {
    return this.#until(() => this.requests.length, count);
  }

  /** Resolves when that many clients have gone away before their answer's end. */
  hungUp(count: number): Promise<void> {
    return this.#until(() => this.#hangUps, count);
  }

  /** Breaks all open connections. */
  drop(): void {
    for (const response of this.#open) response.socket?.destroy();
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#open.add(response);
    response.on('close', () => {
      this.#open.delete(response);
      if (!response.writableFinished) this.#hangUps += 1;
      this.#notify();
    });
    const request = await readRequest(incoming);
    if (!request) return;
    this.requests.push(request);
    this.#notify();
    const answered = this.answered(request);
    if (answered !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answered));
      return;
    }
    const script = this.#queue.shift() ?? this.#otherwise;
    const reply = typeof script === 'function' ? script(request) : script;
    if (reply.hang) return;
    await reply.after;
    if (reply.status !== undefined && reply.status !== 200) return this.#fail(response, reply.status, reply);
    const events = this.events(request, reply);
    if (events) await stream(response, events, reply);
    else this.#fail(response, 404, {});
  }

  #fail(response: ServerResponse, status: number, { headers, body }: FakeReply): void {
    const content = body ?? this.errorBody(status);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof content === 'string' ? content : JSON.stringify(content));
  }

  #until(count: () => number, wanted: number): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.push({ count, wanted, resolve });
      this.#notify();
    });
  }

  #notify(): void {
    for (const { count, wanted, resolve } of this.#waiting) if (count() >= wanted) resolve();
  }
}

/** Undefined where the client, which a test may have killed, is gone before it has sent everything. */
async function readRequest(incoming: IncomingMessage): Promise<FakeRequest | undefined> {
  const body = await buffer(incoming).catch(() => undefined);
  if (!body) return undefined;
  const text = body.toString('utf8');
  return {
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: incoming.headers,
    body: text ? (parseJson(text) as FakeRequest['body']) : {},
  };
}

async function stream(response: ServerResponse, events: FakeEvent[], reply: FakeReply): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...reply.headers });
  response.flushHeaders();
  if (reply.preamble) await write(response, reply.preamble);
  const stopAfter = reply.cutAfter ?? reply.endAfter ?? reply.hangAfter ?? Number.POSITIVE_INFINITY;
  let deltas = 0;
  for (const event of events) {
    if (deltas >= stopAfter) break;
    await write(response, format(event));
    if (event.delta) deltas += 1;
  }
  if (reply.hangAfter !== undefined) return;
  if (reply.cutAfter !== undefined) response.socket?.destroy();
  else response.end();
}

function format({ event, data }: FakeEvent): string {
  const name = event ? `event: ${event}\n` : '';
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

/** Resolves when the bytes have left, or when nobody is there to take them. */
function write(response: ServerResponse, text: string): Promise<void> {
  return new Promise(resolve => {
    if (response.destroyed) resolve();
    else response.write(text, () => resolve());
  });
}

/** Words with the space behind them, as a tokenizer would cut them. */
export function pieces(text = ''): string[] {
  return text.match(/\s*\S+\s*?(?=\s|$)|\s+/g) ?? [];
}

/** Arguments as they go over the wire, in two halves. */
export function argumentPieces(input: unknown): string[] {
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  const half = Math.ceil(text.length / 2);
  return [text.slice(0, half), text.slice(half)].filter(piece => piece !== '');
}

export function toolCalls(reply: FakeReply): (FakeToolCall & { id: string })[] {
  const calls = [...(reply.tool ? [reply.tool] : []), ...(reply.tools ?? [])];
  return calls.map((call, index) => ({ ...call, id: call.id ?? `call_${nextId()}_${index}` }));
}

let ids = 0;
export function nextId(): number {
  ids += 1;
  return ids;
}

/** Token counts, with made-up figures where the script gives none. */
export function usageOf(reply: FakeReply) {
  return { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0, ...reply.usage };
}
