export { Drain } from './drain.js';
export { LiveProcesses } from './live-processes.js';
export { Signals } from './signals.js';
export { WakeUp } from './wake-up.js';
