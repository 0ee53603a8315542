export { ProblemFilter } from './problem.filter.js';
export {
  bodyLimit,
  registerRequestLog,
  registerSecurityHeaders,
  requestId,
  requestOrigin,
  requestUrl,
} from './request-hooks.js';
