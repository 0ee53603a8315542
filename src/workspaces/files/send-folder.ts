import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ZippedFolder } from '../archives/zip-folder.js';
import { contentDisposition } from './content-disposition.js';

/** Answers with a folder as a zip, whose length nobody knows beforehand. */
export function sendFolder(request: FastifyRequest, reply: FastifyReply, { name, zip }: ZippedFolder): void {
  void reply.headers({
    'content-type': 'application/zip',
    'content-disposition': contentDisposition('attachment', `${name}.zip`),
    'cache-control': 'private, no-store',
    'x-content-type-options': 'nosniff',
  });
  void reply.send(request.method === 'HEAD' ? Readable.from([]) : zip());
}
