export { RunApprovals } from './run-approvals.js';
export {
  type AskedCall,
  approvalRequested,
  contextCompacted,
  contextCompacting,
  fileChanged,
  messageAccepted,
  messageWithdrawn,
  modelFellBack,
  responseInvalid,
  stepFinished,
  stepRestarted,
  stepStarted,
  stepWaiting,
  type ToldOfApproval,
  toolFinished,
  toolStarted,
} from './run-event.js';
export { type NewRun, RunIntake, type RunModels, type Target } from './run-intake.js';
export {
  type FinishedStep,
  type NewEvent,
  type PlannedCall,
  type RunEnd,
  RunJournal,
} from './run-journal.js';
export {
  AuthorityLost,
  LimitReached,
  type ReachedLimit,
  RunAuthority,
  RunHold,
  RunLimits,
  type Spent,
  Steering,
} from './run-limits.js';
export { type CarriedRun, RunQueue, type TakenRun } from './run-queue.js';
export { tellRun } from './run-receipts.js';
export {
  type Delivery,
  type OnApproval,
  type RunFault,
  RunLost,
  type RunRow,
  runTopic,
  tasksTopic,
} from './run-state.js';
export { RunStopper } from './run-stopper.js';
export { RunExecutor } from './run-worker.js';
export { RunsModule } from './runs.module.js';
export { RunsService } from './runs.service.js';
export { type PendingRun, RunsStore, runFailed, runFinished } from './runs.store.js';
export { SteersStore } from './steers.store.js';
export { holdRunsAbove, type NewTask, TasksStore, taskRows } from './tasks.store.js';
