export { Drain } from './drain.js';
export { Signals } from './signals.js';
export { WakeUp } from './wake-up.js';
