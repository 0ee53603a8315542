export { newStandardSecret, STANDARD_PREFIX, standardSignature } from './standard.js';
export { type HmacRule, type Received, type Scheme, type Verdict, verifyWebhook } from './verify.js';
