import type { IncomingMessage } from 'node:http';
import { BadRequest, TooLarge } from '../errors/index.js';

/**
 * The bytes of a request, all of them. Throws TooLarge as soon as it is known that there are more than `limit`, and leaves
 * the connection open, so that this can still be answered; BadRequest when the sender goes away before the end; and what
 * `inspect` throws, which sees each piece as it arrives. By the events of the stream, since its iterator costs as much as
 * all else that is done about a short body.
 */
export async function wholeBody(
  request: IncomingMessage,
  limit: number,
  inspect?: (piece: Buffer) => void,
): Promise<Buffer> {
  // Made when it is needed: an error takes its stack along, which costs more than the body.
  const refusal = () => new TooLarge(`The body is larger than ${limit} bytes`);
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

const cutOff = () => new BadRequest('The body was cut off');
