export { CountExchange } from './count-exchange.js';
export { Counters } from './counters.js';
export { LimitsModule } from './limits.module.js';
export { networkOf } from './network.js';
export { RateLimits } from './rate-limits.js';
