import { AsyncLocalStorage } from 'node:async_hooks';
import type { RawBuilder } from 'kysely';

/** A request with an `Idempotency-Key`, as the work that it asks for sees it. */
export interface KeyedRequest {
  /** False once its answer is committed or has left: what goes on after that belongs to it no more. */
  readonly isOpen: boolean;
  /** SQL: whether this process may still execute the request. Locks its row, so that this stays so until the commit. */
  readonly isHeld: RawBuilder<boolean>;
  /**
   * SQL that keeps `view` as its answer, in the transaction of the work; without effect where the request is not held, or
   * the condition `where` does not hold.
   */
  keep(view: unknown, where?: RawBuilder<unknown>): RawBuilder<unknown>;
  /** To be called once the transaction that kept the answer is committed. */
  committed(): void;
}

const requests = new AsyncLocalStorage<KeyedRequest>();

/** Runs the work that a request with a key asks for. */
export function inKeyedRequest<T>(request: KeyedRequest, work: () => T): T {
  return requests.run(request, work);
}

/** The request in whose name this happens, if it has a key and waits for its answer. */
export function keyedRequest(): KeyedRequest | undefined {
  const request = requests.getStore();
  return request?.isOpen ? request : undefined;
}

/** Runs work whose answer is only a part of that of the request: `whole` makes the one out of the other. */
export function answeringWith<T>(whole: (part: unknown) => unknown, work: () => T): T {
  const request = keyedRequest();
  if (!request) return work();
  const wrapped: KeyedRequest = {
    get isOpen() {
      return request.isOpen;
    },
    isHeld: request.isHeld,
    keep: (part, where) => request.keep(whole(part), where),
    committed: () => request.committed(),
  };
  return requests.run(wrapped, work);
}
