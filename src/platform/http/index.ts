export { ProblemFilter } from './problem.filter.js';
export {
  bodyLimit,
  MAX_BODY_BYTES,
  registerRequestHooks,
  requestId,
  requestOrigin,
  requestUrl,
  withRequestOrigin,
} from './request-hooks.js';
export { TrustedProxies } from './trusted-proxies.js';
