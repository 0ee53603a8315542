export { ConcurrencyLimit, LimitReached } from './concurrency-limit.js';
export { Semaphore } from './semaphore.js';
