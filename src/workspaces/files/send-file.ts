import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import mime from 'mime';
import type { OpenFile } from '#libs/workspace-fs/index.js';
import { type ByteRange, rangeOf } from './byte-range.js';
import { contentDisposition, isHarmless, isShownAsText } from './content-disposition.js';

/** What is read at once: a stream costs more than the bytes do. */
const SMALL_BYTES = 256 * 1024;

/** Answers with the bytes of an open file, or to HEAD with all but them, and closes it. */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: OpenFile,
  inline: boolean,
): Promise<void> {
  try {
    const { size } = file.entry;
    const etag = file.entry.etag ?? '';
    void reply.headers({ etag, 'accept-ranges': 'bytes', 'cache-control': 'private, no-cache' });
    const isHead = request.method === 'HEAD';
    if (isUnchanged(request.headers['if-none-match'], etag)) {
      void reply.status(304);
      return await sendNothing(reply, file);
    }
    // Only GET has ranges (RFC 9110 section 14.2).
    const range = isHead ? undefined : rangeOf(request.headers, etag, size);
    void reply.status(range ? 206 : 200).headers(headersOf(file, range, inline));
    if (isHead) return await sendNothing(reply, file);
    if (range || size > SMALL_BYTES) return void reply.send(file.stream(range));
    void reply.send(await file.bytes());
    await file.close();
  } catch (error) {
    await file.close();
    throw error;
  }
}

function headersOf({ entry: { path, size } }: OpenFile, range: ByteRange | undefined, inline: boolean) {
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

/** As a stream, because the length of anything else would be shown instead of the file's. */
async function sendNothing(reply: FastifyReply, file: OpenFile): Promise<void> {
  await file.close();
  void reply.send(Readable.from([]));
}

function isUnchanged(header: string | undefined, etag: string): boolean {
  if (header === '*') return true;
  return (header ?? '').split(',').some(candidate => candidate.trim().replace(/^W\//, '') === etag);
}
