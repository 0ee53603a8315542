export { RunAuthority } from './run-authority.js';
export { RunApprovals, RunStopper, runFailed, runFinished } from './run-control.js';
export { RunEvents } from './run-events.service.js';
export { RunFiles } from './run-files.store.js';
export { type NewRun, type RunChat, RunIntake, type RunModels, type Unattended } from './run-intake.store.js';
export { type Asked, type CallOutcome, type RunJournal, RunJournals } from './run-journal.js';
export {
  LimitReached,
  type ReachedLimit,
  RunLimits,
  type Spent,
  Steering,
} from './run-limits.js';
export { type ClaimedRun, type ExecutedRun, RunQueue } from './run-queue.store.js';
export type { FinishedStep, RunEnd } from './run-rows.store.js';
export {
  type NewEvent,
  type OnApproval,
  type PlannedCall,
  type RunEventType,
  type RunFault,
  RunLost,
  type RunRow,
  runTopic,
  stepFinished,
  stepRestarted,
  stepStarted,
  tasksTopic,
  toolStarted,
  UNATTENDED_ENDS,
} from './run-state.js';
export { RunExecutor } from './run-worker.js';
export { RunWriter } from './run-writer.store.js';
export { RunsModule } from './runs.module.js';
export { RunsService } from './runs.service.js';
export { type PendingRun, RunsStore } from './runs.store.js';
export { TasksStore } from './tasks.store.js';
