export { CountExchange, SharedCounter } from './shared-counter.js';
