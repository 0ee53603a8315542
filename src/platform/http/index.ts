export { clientGone, guardConnections, refuseOnSocket } from './connections.js';
export { ProblemFilter } from './problem.filter.js';
export {
  answerOtherMethods,
  registerRequestLog,
  registerSecurityHeaders,
  requestId,
  requestOrigin,
  targetOf,
} from './request-hooks.js';
