import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below those that systems give to sockets which ask for none: such a socket cannot take one between the look and its use.
 * Browsers refuse some lower ones.
 */
const FIRST = 11_000;
const MAX_WORKERS = 10;
const PER_WORKER = 2_000;

/** Each worker of Jest has ports of its own, and begins anywhere among them, as others may test on this machine. */
const own = FIRST + (Number(process.env.JEST_WORKER_ID ?? 0) % MAX_WORKERS) * PER_WORKER;
let next = randomInt(PER_WORKER);

/** A port that is free on all addresses, for a service that has to know its own address before it listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = own + (next++ % PER_WORKER);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise(resolve => {
    server.once('error', () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });
}
