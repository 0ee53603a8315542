export * from './access.js';
export * from './actor.js';
export { type Chain, joinChains, NO_CHAIN } from './chain.js';
export * from './policy.js';
