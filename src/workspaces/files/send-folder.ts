import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientGone } from '../../platform/http/index.js';
import type { ZippedFolder } from '../archives/index.js';
import { contentDisposition } from './content-disposition.js';

/** Answers with a folder as a zip, whose length nobody knows beforehand. */
export async function sendFolder(
  request: FastifyRequest,
  reply: FastifyReply,
  folder: ZippedFolder,
): Promise<void> {
  const zip = request.method === 'HEAD' ? Readable.from([]) : await folder.zip(clientGone(reply));
  void reply.headers({
    'content-type': 'application/zip',
    'content-disposition': contentDisposition('attachment', `${folder.name}.zip`),
    'cache-control': 'private, no-store',
    'x-content-type-options': 'nosniff',
  });
  void reply.send(zip);
}
