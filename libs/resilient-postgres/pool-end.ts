import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';

/** How long connections may take to close. A database that does not answer closes none. */
const CLOSE_MS = 1_000;

/**
 * For a new pool: returns what ends it, and resolves when its connections are closed. `end()` of pg resolves earlier, and a server that is
 * stopped then ends connections that the pool still listens to: each is an error.
 */
export function poolEnd(pool: pg.Pool): () => Promise<void> {
  const open = new Set<pg.PoolClient>();
  const { promise: allClosed, resolve } = Promise.withResolvers<void>();
  let isEnding = false;
  pool.on('connect', client => open.add(client));
  pool.on('remove', client => {
    open.delete(client);
    if (isEnding && open.size === 0) resolve();
  });
  return async () => {
    isEnding = true;
    await pool.end();
    if (open.size > 0) await Promise.race([allClosed, sleep(CLOSE_MS, undefined, { ref: false })]);
  };
}
