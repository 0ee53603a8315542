export { ProblemFilter } from './problem.filter.js';
export {
  bodyLimit,
  registerRequestHooks,
  requestId,
  requestOrigin,
  requestUrl,
} from './request-hooks.js';
