export { RAW_BODY, readBody, registerBodyParsers } from './body-parsers.js';
export { bytesOf } from './unread-body.js';
export { wholeBody } from './whole-body.js';
