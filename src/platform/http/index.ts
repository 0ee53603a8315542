export { ProblemFilter } from './problem.filter.js';
export {
  registerRequestLog,
  registerSecurityHeaders,
  requestId,
  requestOrigin,
} from './request-hooks.js';
