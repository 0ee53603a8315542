export { MessagesModule } from './messages.module.js';
export { UnattendedRuns } from './unattended-runs.js';
