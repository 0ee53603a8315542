export { ConcurrencyLimit, LimitReached } from './concurrency-limit.js';
