import { AsyncLocalStorage } from 'node:async_hooks';
import type { Pool } from 'pg';

const urgent = new AsyncLocalStorage<boolean>();

/** Runs `work`, whose queries get the next connection that is free, before all who wait for one already. */
export function urgently<T>(work: () => T): T {
  return urgent.run(true, work);
}

/** What `pg` has and its types lack: those who wait for a connection, in their order. */
interface Queue {
  readonly _pendingQueue: unknown[];
}

/** Calls `ask`, which asks the pool for a connection; where it has to wait and is urgent, it waits in front. */
export function inTurn<T>(pool: Pool | undefined, ask: () => Promise<T>): Promise<T> {
  if (!pool || urgent.getStore() !== true) return ask();
  const { _pendingQueue: waiting } = pool as Pool & Queue;
  const before = waiting.length;
  const connection = ask();
  if (waiting.length > before) waiting.unshift(waiting.pop());
  return connection;
}
