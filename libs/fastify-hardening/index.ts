export {
  bytesOf,
  jsonOf,
  RAW_BODY,
  type ReceivedBody,
  readBody,
  receiveBody,
  registerBodyParsers,
  wholeBody,
} from './body.js';
export { clientGone, closeUnreadConnections, guardConnections, refuseOnSocket } from './connections.js';
export { EventStream, resumeAfter, type ServerEvent } from './event-stream.js';
export { DATA_POLICY, HttpRefusal } from './refusal.js';
export { answerOtherMethods, targetOf } from './request-target.js';
