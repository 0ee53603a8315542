import type { Duplex } from 'node:stream';
import { ask } from './ask.js';
import { Connection } from './connection.js';

/** A question to a server, for the sake of its status alone. */
export interface StatusQuestion {
  readonly path: string;
  readonly host: string;
  readonly signal: AbortSignal;
}

/** Asks a server over a connection, which ends with the head of the answer. Rejects with ProxyError, or the signal's reason. */
export async function statusOf(socket: Duplex, { path, host, signal }: StatusQuestion): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const connection = new Connection(socket);
  ask(
    { path, headers: ['Host', host, 'Connection', 'close'], createConnection: () => connection },
    { begun: ({ status }) => resolve(status), failed: reject },
  ).end();
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', stop);
    connection.destroy();
  }
}
