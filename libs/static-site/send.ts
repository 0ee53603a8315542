import type { FileHandle } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { type Answer, type BlobBody, sentence } from './answer.js';
import type { BlobCache } from './blob-cache.js';
import type { BlobFolder } from './blob-folder.js';

/** How an answer is sent. */
export interface SendOptions {
  /** Further headers: name, value, name, value, … */
  headers?: readonly string[];
  /**
   * The prefix of an internal location of nginx, such as `/_blobs/<site>/`: a whole file is then named by `X-Accel-Redirect`, and
   * nginx sends it. What it would not pass on (see {@link ACCEL_HEADERS}) is sent from here all the same.
   */
  accel?: string;
  /** Told when a blob is missing, is shorter than it should be, or cannot be read. The client got 503, or a broken connection. */
  onError?: (error: unknown, blob: { hash: string; encoding?: string }) => void;
}

/** Bytes of one read of a file that is not kept in memory. */
const READ_BYTES = 256 * 1024;

/**
 * The headers, in lower case, that an offloaded answer may have: those that nginx keeps of an answer with `X-Accel-Redirect`, and
 * those that its internal location has to add again by `add_header <name> $upstream_http_<name>`. An answer with any other is not
 * offloaded.
 */
export const ACCEL_HEADERS: ReadonlySet<string> = new Set([
  'accept-ranges',
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
  'access-control-expose-headers',
  'atelier-version',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-length',
  'content-range',
  'content-security-policy',
  'content-security-policy-report-only',
  'content-type',
  'cross-origin-embedder-policy',
  'cross-origin-opener-policy',
  'cross-origin-resource-policy',
  'etag',
  'link',
  'permissions-policy',
  'referrer-policy',
  'service-worker-allowed',
  'strict-transport-security',
  'timing-allow-origin',
  'vary',
  'x-content-type-options',
  'x-frame-options',
  'x-robots-tag',
]);

const DONE = Promise.resolve();

/**
 * Sends an answer. From memory it is synchronous; other files are read through one descriptor, a piece at a time, as fast as the
 * client takes them. When the client goes away, the descriptor is closed at once. A blob that is missing becomes 503 as long as
 * nothing is sent, and a broken connection after that; never another file. Resolves when nothing is left to do; never rejects.
 */
export function send(
  res: ServerResponse,
  answer: Answer,
  blobs: BlobFolder,
  cache: BlobCache,
  options: SendOptions = {},
): Promise<void> {
  const { body, status } = answer;
  const headers = options.headers ? [...answer.headers, ...options.headers] : answer.headers;
  if (isGone(res)) return DONE;
  if (body?.kind !== 'blob' || body.size === 0) {
    writeHead(res, status, headers);
    res.end(body?.kind === 'text' ? body.bytes : undefined);
    return DONE;
  }
  if (options.accel !== undefined && isOffloadable(status, headers)) {
    writeHead(res, 200, offloaded(headers, `${options.accel}${blobs.relative(body.hash, body.encoding)}`));
    res.end();
    return DONE;
  }
  const kept = cache.get(body);
  if (kept) {
    sendBytes(res, status, headers, body, kept);
    return DONE;
  }
  return cache.admits(body)
    ? load(res, status, headers, body, blobs, cache, options)
    : stream(res, status, headers, body, blobs, options);
}

/** Arrays are taken as they are: neither copied nor checked again. */
function writeHead(res: ServerResponse, status: number, headers: readonly string[]): void {
  res.writeHead(status, headers as string[]);
}

function sendBytes(
  res: ServerResponse,
  status: number,
  headers: readonly string[],
  body: BlobBody,
  bytes: Buffer,
): void {
  writeHead(res, status, headers);
  res.end(body.end - body.start + 1 === bytes.length ? bytes : bytes.subarray(body.start, body.end + 1));
}

async function load(
  res: ServerResponse,
  status: number,
  headers: readonly string[],
  body: BlobBody,
  blobs: BlobFolder,
  cache: BlobCache,
  options: SendOptions,
): Promise<void> {
  try {
    const bytes = await cache.load(body, blobs);
    if (!isGone(res)) sendBytes(res, status, headers, body, bytes);
  } catch (error) {
    fail(res, body, error, options);
  }
}

async function stream(
  res: ServerResponse,
  status: number,
  headers: readonly string[],
  body: BlobBody,
  blobs: BlobFolder,
  options: SendOptions,
): Promise<void> {
  let file: FileHandle | undefined;
  try {
    file = await blobs.open(body.hash, body.encoding);
    await pump(res, file, body, () => writeHead(res, status, headers));
  } catch (error) {
    fail(res, body, error, options);
  } finally {
    await file?.close();
  }
}

/** The head is written with the first bytes: until then, a file that cannot be read can still be said to be. */
async function pump(res: ServerResponse, file: FileHandle, body: BlobBody, begin: () => void): Promise<void> {
  let at = body.start;
  while (at <= body.end) {
    if (isGone(res)) return;
    // A new one each time: the socket may still have the one before.
    const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, body.end - at + 1));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) throw new Error(`The blob ${body.hash} ends at ${at} instead of ${body.size} bytes`);
    if (isGone(res)) return;
    if (at === body.start) begin();
    at += bytesRead;
    const bytes = bytesRead === buffer.length ? buffer : buffer.subarray(0, bytesRead);
    if (at > body.end) res.end(bytes);
    else if (!res.write(bytes)) await taken(res);
  }
}

/** Until the client has taken what was written, or is gone. */
function taken(res: ServerResponse): Promise<void> {
  const { socket } = res.req;
  return new Promise(resolve => {
    const done = () => {
      res.off('drain', done).off('close', done);
      socket.off('close', done);
      resolve();
    };
    res.on('drain', done).on('close', done);
    // An answer whose turn on the connection has not come is not told that it is closed.
    socket.setMaxListeners(0).on('close', done);
  });
}

const isGone = (res: ServerResponse): boolean => res.destroyed || res.req.socket.destroyed;

function fail(
  res: ServerResponse,
  { hash, encoding }: BlobBody,
  error: unknown,
  { onError }: SendOptions,
): void {
  onError?.(error, encoding === undefined ? { hash } : { hash, encoding });
  if (isGone(res)) return;
  // What has begun must not end as if it were whole.
  if (res.headersSent) return void res.destroy();
  const { status, headers, body } = sentence(503, 'This file cannot be read at the moment.', 'GET', [
    'Retry-After',
    '5',
  ]);
  writeHead(res, status, headers);
  res.end(body?.kind === 'text' ? body.bytes : undefined);
}

/** nginx answers ranges itself, and only 200 keeps its status. */
function isOffloadable(status: number, headers: readonly string[]): boolean {
  if (status !== 200 && status !== 206) return false;
  for (let index = 0; index < headers.length; index += 2)
    if (!ACCEL_HEADERS.has((headers[index] ?? '').toLowerCase())) return false;
  return true;
}

function offloaded(headers: readonly string[], location: string): string[] {
  const kept = ['X-Accel-Redirect', location, 'Content-Length', '0'];
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? '';
    if (!/^content-(length|range)$/i.test(name)) kept.push(name, headers[index + 1] ?? '');
  }
  return kept;
}
