import { AsyncLocalStorage } from 'node:async_hooks';

/** Where the request at work came from. */
export interface RequestOrigin {
  readonly request_id: string;
  readonly address: string;
  readonly user_agent: string | null;
}

const origins = new AsyncLocalStorage<RequestOrigin>();

/** Runs `work` so that whatever follows from it, also later and asynchronously, knows where it came from. */
export function withRequestOrigin<T>(origin: RequestOrigin, work: () => T): T {
  return origins.run(origin, work);
}

/** Where the request at work came from; undefined outside a request, as in a background job. */
export function requestOrigin(): RequestOrigin | undefined {
  return origins.getStore();
}
