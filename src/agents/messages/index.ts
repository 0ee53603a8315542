export { MessagesModule } from './messages.module.js';
export { type ReadyRun, UnattendedRuns } from './unattended-runs.js';
