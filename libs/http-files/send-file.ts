import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fresh from 'fresh';
import mime from 'mime';
import { FileRefusal } from './refusal.js';

/** A file to send. `stream` closes it at its end, or when it is destroyed. */
export interface SentFile {
  readonly entry: { readonly path: string; readonly size: number; readonly etag: string | null };
  bytes(): Promise<Buffer>;
  stream(range?: ByteRange): Readable;
  close(): Promise<unknown>;
}

/** Media types that a browser may show from our origin: none can run script. */
const HARMLESS = /^(image\/(png|jpeg|gif|webp|avif|bmp)|application\/pdf|text\/plain|audio\/.+|video\/.+)$/;

export const isHarmless = (mediaType: string): boolean => HARMLESS.test(mediaType);

/** Text that no browser renders: shown as plain text. */
const SHOWN_AS_TEXT = /^(text\/(markdown|csv|tab-separated-values|yaml)|application\/(json|toml))$/;

const isShownAsText = (mediaType: string): boolean => SHOWN_AS_TEXT.test(mediaType);

/** `Content-Disposition` for any name (RFC 6266): plain ASCII, and the true name in UTF-8. */
export function contentDisposition(kind: 'inline' | 'attachment', name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    c => `%${c.charCodeAt(0).toString(16)}`,
  );
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

export interface ByteRange {
  start: number;
  end: number;
}

/** One range (RFC 9110 section 14.2); undefined: the whole file. */
export function parseRange(header: string | undefined, size: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  if (start >= size)
    throw new FileRefusal(416, `The file has ${size} bytes`, { 'content-range': `bytes */${size}` });
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return { start, end };
}

/** `If-Range` with another ETag asks for the whole file (RFC 9110 section 13.1.5). */
export function rangeOf(headers: IncomingHttpHeaders, etag: string, size: number): ByteRange | undefined {
  const ifRange = headers['if-range'];
  return ifRange === undefined || ifRange === etag ? parseRange(headers.range, size) : undefined;
}

/** Up to this size, a stream costs more than the bytes do. */
const SMALL_BYTES = 256 * 1024;

/** Sends an open file, without its bytes to HEAD, and closes it. */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: SentFile,
  inline: boolean,
): Promise<void> {
  try {
    const { size } = file.entry;
    const etag = file.entry.etag ?? '';
    void reply.headers({ etag, 'accept-ranges': 'bytes', 'cache-control': 'private, no-cache' });
    const isHead = request.method === 'HEAD';
    if (isUnchanged(request.headers, etag)) {
      void reply.status(304);
      return await sendNothing(reply, file);
    }
    // Only GET has ranges (RFC 9110 section 14.2).
    const range = isHead ? undefined : rangeOf(request.headers, etag, size);
    const isWhole = !isHead && !range && size <= SMALL_BYTES;
    // Before headers describe it: it may have been cut since, and then a problem is answered.
    const bytes = isWhole ? await file.bytes() : undefined;
    void reply.status(range ? 206 : 200).headers(headersOf(file, range, inline));
    if (isHead) return await sendNothing(reply, file);
    if (!bytes) return void reply.send(file.stream(range));
    void reply.send(bytes);
    await file.close();
  } catch (error) {
    await file.close();
    throw error;
  }
}

function headersOf({ entry: { path, size } }: SentFile, range: ByteRange | undefined, inline: boolean) {
  // With a slash before it: a bare name without a dot would be taken for an extension.
  const known = mime.getType(`/${path}`) ?? 'application/octet-stream';
  const type = inline && isShownAsText(known) ? 'text/plain' : known;
  const kind = inline && isHarmless(type) ? 'inline' : 'attachment';
  return {
    'content-type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
    'content-length': range ? range.end - range.start + 1 : size,
    'content-disposition': contentDisposition(kind, path.slice(path.lastIndexOf('/') + 1)),
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    ...(range ? { 'content-range': `bytes ${range.start}-${range.end}/${size}` } : {}),
  };
}

/** As a stream: for anything else, its own length would replace the file's. */
async function sendNothing(reply: FastifyReply, file: SentFile): Promise<void> {
  await file.close();
  void reply.send(Readable.from([]));
}

/** Whatever `Cache-Control` of the request says, which `fresh` would read as well. */
const isUnchanged = ({ 'if-none-match': ifNoneMatch }: IncomingHttpHeaders, etag: string): boolean =>
  fresh({ 'if-none-match': ifNoneMatch }, { etag });
