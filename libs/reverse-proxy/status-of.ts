import type { Duplex } from 'node:stream';
import { AnswerParser } from './answer-parser.js';
import { AnswerReader } from './answer-reader.js';
import { Connection } from './upstream.js';

/** A question to a server, for the sake of its status alone. */
export interface StatusQuestion {
  readonly path: string;
  readonly host: string;
  readonly signal: AbortSignal;
}

/** Asks a server over a connection, which ends with the head of the answer. Rejects with ProxyError, or the signal's reason. */
export async function statusOf(socket: Duplex, { path, host, signal }: StatusQuestion): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const parser = new AnswerParser('GET', {
    informational: () => {},
    head: ({ status }) => resolve(status),
    body: () => {},
    end: () => {},
  });
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  new Connection(socket, () => {}).use(new AnswerReader(parser, reject));
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, 'latin1');
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', stop);
    socket.destroy();
  }
}
