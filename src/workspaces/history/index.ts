import { GitStore } from './git-store.js';
import { HistoryController } from './history.controller.js';
import { HistoryJobs } from './history.jobs.js';
import { HistoryService } from './history.service.js';
import { HistoryCapture } from './history-capture.js';
import { HISTORY_QUEUE, HistoryKeeper } from './history-keeper.js';
import { HistoryTrim } from './history-trim.js';
import { Restoring } from './restoring.js';
import { RunFiles } from './run-files.js';
import { RunRollback } from './run-rollback.js';
import { VersionReads } from './version-reads.js';
import { VersionsStore } from './versions.store.js';

export { captureHistory } from './history-keeper.js';
export { FileChangeView, RevertedView } from './run-files.dto.js';
export { HISTORY_QUEUE, RunFiles, RunRollback };

export const historyControllers = [HistoryController];
export const historyProviders = [
  HistoryService,
  HistoryCapture,
  HistoryKeeper,
  HistoryJobs,
  HistoryTrim,
  GitStore,
  Restoring,
  RunFiles,
  RunRollback,
  VersionReads,
  VersionsStore,
];
