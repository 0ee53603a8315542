export { GraderCalls } from './grader-calls.store.js';
export * from './loop-state.js';
export { type EndOptions, LoopWriter, type NewLoop } from './loop-writer.store.js';
export { LoopsStore } from './loops.store.js';
