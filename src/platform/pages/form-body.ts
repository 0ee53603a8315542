import type { FastifyRequest } from 'fastify';
import { TooLarge, UnsupportedMediaType } from '../errors/index.js';

const MAX_BYTES = 16_384;

/** The fields of a form that a browser sent without JavaScript (application/x-www-form-urlencoded). */
export async function readForm(request: FastifyRequest): Promise<Record<string, string>> {
  return Object.fromEntries(await readFields(request));
}

/** As {@link readForm}, with the fields that come more than once. */
export async function readFields({ headers, body }: FastifyRequest): Promise<URLSearchParams> {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '');
  if (!isForm || typeof body !== 'object' || body === null || !(Symbol.asyncIterator in body))
    throw new UnsupportedMediaType('Send the form of this page');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new TooLarge('The form is too large', { connection: 'close' });
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}
