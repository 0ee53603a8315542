import type { FastifyReply, FastifyRequest } from 'fastify';
import mime from 'mime';
import type { OpenFile } from '#libs/workspace-fs/index.js';
import { RangeNotSatisfiable } from '../../platform/http/problem.js';

/** What a browser may show from our own origin: nothing that can run script. */
const HARMLESS = /^(image\/(png|jpeg|gif|webp|avif|bmp)|application\/pdf|text\/plain|audio\/|video\/)/;

/** An inclusive range of bytes. */
interface ByteRange {
  start: number;
  end: number;
}

/** A `Range` of one part (RFC 9110 section 14.2); undefined where the whole file is the answer. */
export function parseRange(header: string | undefined, size: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  if (start >= size || (first === '' && Number(last) === 0))
    throw new RangeNotSatisfiable(`The file has ${size} bytes`, { 'content-range': `bytes */${size}` });
  return { start, end };
}

/** `Content-Disposition` for any name (RFC 6266): plain ASCII, and the true name in UTF-8. */
function disposition(kind: 'inline' | 'attachment', name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    c => `%${c.charCodeAt(0).toString(16)}`,
  );
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

function isUnchanged(header: string | undefined, etag: string): boolean {
  return (
    header === '*' ||
    (header ?? '').split(',').some(candidate => candidate.trim().replace(/^W\//, '') === etag)
  );
}

/** Answers with the bytes of an open file, and closes it. */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: OpenFile,
  inline: boolean,
): Promise<void> {
  try {
    const { path, size } = file.entry;
    const etag = file.entry.etag ?? '';
    void reply.headers({ etag, 'accept-ranges': 'bytes', 'cache-control': 'private, no-cache' });
    if (isUnchanged(request.headers['if-none-match'], etag)) {
      await file.close();
      return void reply.status(304).send();
    }
    const range = rangeOf(request, etag, size);
    const type = mime.getType(path) ?? 'application/octet-stream';
    const shown = inline && HARMLESS.test(type);
    void reply.status(range ? 206 : 200).headers({
      'content-type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
      'content-length': range ? range.end - range.start + 1 : size,
      'content-disposition': disposition(shown ? 'inline' : 'attachment', path.split('/').at(-1) ?? 'file'),
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      ...(range ? { 'content-range': `bytes ${range.start}-${range.end}/${size}` } : {}),
    });
    void reply.send(size === 0 ? file.stream() : file.stream(range));
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** `If-Range` with another ETag asks for the whole file instead (RFC 9110 section 13.1.5). */
function rangeOf({ headers }: FastifyRequest, etag: string, size: number): ByteRange | undefined {
  const ifRange = headers['if-range'];
  return ifRange === undefined || ifRange === etag ? parseRange(headers.range, size) : undefined;
}
