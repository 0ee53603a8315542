export { Counters } from './counters.js';
export { LimitsModule } from './limits.module.js';
export { networkOf, RateLimits } from './rate-limits.js';
