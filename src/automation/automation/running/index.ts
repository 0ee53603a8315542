export { AgentWork } from './agent-work.js';
export { ChainGuard, isGuarded } from './chain-guard.js';
export { Expectations } from './expectations.js';
export { type Incoming, Intake } from './incoming.js';
export { RunEnds } from './run-ends.js';
export { RunMeansReader } from './run-means.js';
export { ScriptWork } from './script-work.js';
export { AutomationStarter } from './starter.js';
export { WrittenFiles } from './written-files.store.js';
