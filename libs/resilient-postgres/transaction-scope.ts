import { AsyncLocalStorage } from 'node:async_hooks';

const scopes = new AsyncLocalStorage<{ isOpen: boolean }>();

/**
 * A transaction asked the pool for a second connection. It may wait for others that wait for one too, each holding what
 * the other needs: all connections are taken then, for good.
 */
export class SecondConnection extends Error {
  constructor() {
    super('A query outside the unit of work, inside a transaction; pass the unit on to what asks it');
  }
}

/** Runs the work of one transaction, so that {@link isInTransaction} knows of it, whatever is called in between. */
export async function inTransaction<T>(work: () => Promise<T>): Promise<T> {
  const scope = { isOpen: true };
  try {
    return await scopes.run(scope, work);
  } finally {
    scope.isOpen = false;
  }
}

/** Whether the caller was called, at whatever distance, by the work of a transaction that is still open. */
export function isInTransaction(): boolean {
  return scopes.getStore()?.isOpen === true;
}
