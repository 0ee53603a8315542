export { SharedLookups } from './shared-lookups.js';
