export { ModelCaller } from './model-call.js';
export {
  type NewRun,
  RunAcceptance,
  type RunChat,
  type RunModels,
  type Unattended,
} from './run-acceptance.store.js';
export { RunApprovals, RunStopper, runFailed, runFinished } from './run-control.js';
export { RunEvents } from './run-events.service.js';
export { type RunJournal, RunJournals } from './run-journal.js';
export { RunQueue } from './run-queue.store.js';
export { type NewEvent, type OnApproval, type RunRow, UNATTENDED_ENDS } from './run-state.js';
export { RunWriter } from './run-writer.store.js';
export { RunsModule } from './runs.module.js';
export { RunsService } from './runs.service.js';
export { type PendingRun, RunsStore } from './runs.store.js';
export { TaskIntake } from './task-starter.js';
