export { LimitsModule } from './limits.module.js';
export { RateLimits } from './rate-limit.js';
export { networkOf } from './rate-limit-address.js';
export { RateLimitShare } from './rate-limit-share.js';
export { minuteOf } from './rate-limit-window.js';
