export { bytesOf, RAW_BODY, readBody, registerBodyParsers, wholeBody } from './body.js';
