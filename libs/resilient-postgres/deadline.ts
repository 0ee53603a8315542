import { AsyncLocalStorage } from 'node:async_hooks';

/** How long a query may take that is asked outside {@link withQueryDeadline}. */
export const QUERY_MS = 60_000;

const deadlines = new AsyncLocalStorage<number>();

/**
 * Runs `work`, each of whose queries fails after so many milliseconds. The connection of a query that failed so is closed:
 * it may not work any more. 0: no deadline.
 */
export function withQueryDeadline<T>(milliseconds: number, work: () => T): T {
  return deadlines.run(milliseconds, work);
}

/** How many milliseconds a query may take that is asked now. */
export function queryDeadline(): number {
  return deadlines.getStore() ?? QUERY_MS;
}

/** Fails when an answer takes longer, for whatever reason. */
export function within<T>(milliseconds: number, answer: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`No answer in ${milliseconds} ms`)), milliseconds);
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
