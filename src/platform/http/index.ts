export { ProblemFilter } from './problem.filter.js';
export {
  bodyLimit,
  registerRequestHooks,
  requestId,
  requestOrigin,
  requestUrl,
  withRequestOrigin,
} from './request-hooks.js';
export { TrustedProxies } from './trusted-proxies.js';
