export { LimitsModule } from './limits.module.js';
export { Counters, networkOf, RateLimits } from './rate-limits.js';
