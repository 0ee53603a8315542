export * from './access.js';
export * from './policy.js';
