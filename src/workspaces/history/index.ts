export { GitStore } from './git-store.js';
export { HistoryModule } from './history.module.js';
export { captureHistory } from './history-keeper.js';
export { HistoryTrim } from './history-trim.js';
export { FileChangeView, RevertedView } from './run-files.dto.js';
export { RunFiles } from './run-files.js';
export { RunRollback } from './run-rollback.js';
