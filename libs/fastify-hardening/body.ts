import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseJson } from '#libs/exact-json/index.js';
import { HttpRefusal } from './refusal.js';

/** Deeper than requests are, and shallow enough for every recursive reader of what was parsed. */
const MAX_DEPTH = 100;
/** Objects, lists and what they hold. To parse this many takes some milliseconds, of many more it would take seconds. */
const MAX_VALUES = 100_000;
/** Names of fields. Each costs many times as much as a value: a large object is a table, and names are kept for good. */
const MAX_KEYS = 20_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** `[` and `{`, `]` and `}` differ in one bit only. */
const CASE_BIT = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * Watches a JSON text go by in pieces, and throws {@link HttpRefusal} (422) as soon as it would be too costly to parse: nested too deeply, or
 * made of too many values or fields. Says nothing of whether the text is valid.
 */
export class JsonMeter {
  private depth = 0;
  private values = 0;
  private keys = 0;
  private inText = false;
  /** The piece before ended in a backslash that escapes what comes now. */
  private escapes = false;

  take(piece: Uint8Array): void {
    let { depth, values, keys, inText } = this;
    let at = this.escapes ? 1 : 0;
    for (; at < piece.length; at++) {
      const byte = piece[at] as number;
      if (inText) {
        if (byte === BACKSLASH) at++;
        else if (byte === QUOTE) inText = false;
      } else if (byte === QUOTE) inText = true;
      else if (byte === COMMA) values++;
      else if (byte === COLON) keys++;
      else if ((byte | CASE_BIT) === OPEN) {
        values++;
        if (++depth > MAX_DEPTH) throw new HttpRefusal(422, `The body is nested more than ${MAX_DEPTH} deep`);
      } else if ((byte | CASE_BIT) === CLOSE) depth--;
    }
    if (values > MAX_VALUES) throw new HttpRefusal(422, `The body has more than ${MAX_VALUES} values`);
    if (keys > MAX_KEYS) throw new HttpRefusal(422, `The body has more than ${MAX_KEYS} fields`);
    this.escapes = at > piece.length;
    this.depth = depth;
    this.values = values;
    this.keys = keys;
    this.inText = inText;
  }
}

/** How long the rest of a body that was refused is read and thrown away. */
const LINGER_MS = 30_000;

/**
 * The bytes of a request, for one reader. Stopping before the end leaves the connection open, unlike reading the
 * request itself, so that it can still be answered. Throws HttpRefusal (400) when the sender goes away before the end.
 */
export async function* bytesOf(request: Readable): AsyncGenerator<Buffer> {
  try {
    yield* request.iterator({ destroyOnReturn: false });
  } catch (error) {
    throw request.errored ? new HttpRefusal(400, 'The body was cut off') : error;
  }
}

/** A body as it arrives, with its length where the sender says it. */
export interface ReceivedBody {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly expectedBytes?: number;
}

/** The body of a route with {@link RAW_BODY}. */
export function receiveBody({ headers, body }: FastifyRequest): ReceivedBody {
  const length = Number(headers['content-length']);
  return {
    bytes: bytesOf(body instanceof Readable ? body : Readable.from([])),
    expectedBytes: Number.isSafeInteger(length) ? length : undefined,
  };
}

/**
 * Answers before the body was read. The connection closes once the rest of the body was discarded, or after a timeout:
 * closed earlier it would be reset, and the client would lose the answer (RFC 9112 section 9.6).
 */
function answerUnreadBodies(fastify: FastifyInstance): void {
  const stopping = new AbortController();
  fastify.addHook('preClose', async () => stopping.abort());
  fastify.addHook('onSend', ({ raw }, reply, payload, done) => {
    if (raw.complete || raw.destroyed || typeof payload !== 'string') return done(null, payload);
    void reply.headers({ connection: 'close', 'content-length': Buffer.byteLength(payload) });
    done(null, Readable.from(thenLinger(payload, raw, stopping.signal)));
  });
}

async function* thenLinger(
  payload: string,
  request: IncomingMessage,
  stopping: AbortSignal,
): AsyncGenerator<string> {
  yield payload;
  request.resume();
  const signal = AbortSignal.any([AbortSignal.timeout(LINGER_MS), stopping]);
  // However it ends: read to its end, given up by its sender, or too slow.
  await finished(request, { signal }).catch(() => undefined);
}

/**
 * All bytes of a request. Throws HttpRefusal: 413 beyond `limit`, and leaves the connection open for the answer; 400 when the
 * body is cut off; and what `inspect` throws of a piece. It uses events: the iterator of a stream is much slower.
 */
export async function wholeBody(
  request: IncomingMessage,
  limit: number,
  inspect?: (piece: Buffer) => void,
): Promise<Buffer> {
  // Made when it is needed: an error takes its stack along, which costs more than the body.
  const refusal = () => new HttpRefusal(413, `The body is larger than ${limit} bytes`);
  if (Number(request.headers['content-length']) > limit) throw refusal();
  if (request.readableEnded) return Buffer.alloc(0);
  if (request.destroyed) throw cutOff();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > limit) return settle(() => reject(refusal()));
      try {
        inspect?.(chunk);
      } catch (error) {
        settle(() => reject(error));
      }
    };
    const end = () =>
      settle(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size)));
    const lose = () => settle(() => reject(cutOff()));
    const settle = (say: () => void) => {
      request.off('data', take).off('end', end).off('error', lose).off('close', lose).pause();
      say();
    };
    request.on('data', take).once('end', end).once('error', lose).once('close', lose);
  });
}

const cutOff = () => new HttpRefusal(400, 'The body was cut off');

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Route configuration of those that take raw bytes of whatever type. */
export const RAW_BODY = { rawBody: true };

function jsonIn(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw new HttpRefusal(400, 'The body is not valid UTF-8');
  }
  try {
    return parseJson(text);
  } catch (error) {
    throw new HttpRefusal(400, `The body is not valid JSON: ${(error as Error).message.slice(0, 200)}`);
  }
}

/** JSON that was received as bytes. Throws HttpRefusal: 400 where it is none, 422 where it is nested or split up too much. */
export function jsonOf(body: Buffer): unknown {
  new JsonMeter().take(body);
  return jsonIn(body);
}

/** A JSON body that has not been read yet: who sends it, and so how much they may send, is found out first. */
class UnreadJson {
  constructor(
    private readonly payload: IncomingMessage,
    private readonly limit: () => number,
  ) {}

  async read(): Promise<unknown> {
    const meter = new JsonMeter();
    return jsonIn(await wholeBody(this.payload, this.limit(), piece => meter.take(piece)));
  }
}

/**
 * The body of a request, which takes its place there: JSON parsed, of another type as a stream. To be called once it
 * is known who sends it. Throws HttpRefusal where it is too long for them (413), or is no JSON.
 */
export async function readBody(request: FastifyRequest): Promise<unknown> {
  const { body } = request;
  if (!(body instanceof UnreadJson)) return body;
  const value = await body.read();
  request.body = value;
  return value;
}

/**
 * JSON is read whole, strictly, by {@link readBody}, up to so many bytes as `limitOf` says of the request then; a body of any other type is handed on as a stream to the routes that
 * take raw bytes.
 */
export function registerBodyParsers(
  fastify: FastifyInstance,
  limitOf: (request: FastifyRequest) => number,
): void {
  answerUnreadBodies(fastify);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    'application/json',
    async (request: FastifyRequest, payload: IncomingMessage) =>
      'rawBody' in request.routeOptions.config ? payload : new UnreadJson(payload, () => limitOf(request)),
  );
  fastify.addContentTypeParser('*', async (_request: FastifyRequest, payload: IncomingMessage) => payload);
}
