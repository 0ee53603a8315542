export { GitStore } from './git-store.js';
export { FileChangeView, RevertedView } from './history.dto.js';
export { captureHistory, HistoryTrim } from './history.jobs.js';
export { HistoryModule } from './history.module.js';
export { type Comparison, RunFiles } from './run-files.js';
export { RunRollback } from './run-rollback.js';
