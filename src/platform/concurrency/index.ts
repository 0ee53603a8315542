export { ConcurrencyLimit, LimitReached, type TurnOf } from './concurrency-limit.js';
