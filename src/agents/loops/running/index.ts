export { Iterations } from './iterations.js';
export { LoopBlockedTool } from './loop-blocked.tool.js';
export { LoopEnds } from './loop-ends.js';
export { endOf, leftOf, spentUp } from './next-step.js';
