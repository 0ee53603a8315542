export * from './access.js';
export * from './policy.js';
export * from './visible-to.js';
