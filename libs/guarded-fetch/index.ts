export { type AddressPolicy, InvalidPrivateHosts, isPublicAddress, PrivateHosts } from './address.js';
export { GuardedFetchError, type Refusal } from './error.js';
export { GuardedFetch, type GuardedFetchOptions } from './guarded-fetch.js';
export { retryAfterMs } from './retry-after.js';
