import { asInteger } from './parsers.js';
import { setting } from './setting.js';

/** Runs of agents. */
export const runsSettings = {
  runConcurrency: setting(
    'RUN_CONCURRENCY',
    'Agent runs that one worker process executes at once.',
    asInteger(1, 1000),
    32,
  ),
  runMaxSteps: setting(
    'RUN_MAX_STEPS',
    'Most model calls of one run, unless its budget says less.',
    asInteger(1, 10000),
    100,
  ),
  runTaskDepth: setting(
    'RUN_TASK_DEPTH',
    'How many levels deep agents may hand tasks to subagents; 0: not at all.',
    asInteger(0, 10),
    2,
  ),
  runTasksAtOnce: setting(
    'RUN_TASKS_AT_ONCE',
    'Tasks that one run has in flight at once; those beyond wait their turn.',
    asInteger(1, 100),
    8,
  ),
  runMaxTasks: setting(
    'RUN_MAX_TASKS',
    'Most tasks that one run may start in all, those of its tasks included.',
    asInteger(0, 1_000_000),
    200,
  ),
  drainSeconds: setting(
    'DRAIN_SECONDS',
    'How long SIGTERM waits for work in flight before it is handed back.',
    asInteger(0, 3600),
    8,
  ),
} as const;
