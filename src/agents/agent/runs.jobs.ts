import { defineJob } from '../../platform/queue/job-queue.js';

export const RUN_QUEUE = 'runs';

/** Carry a run on from wherever it stands to its end. */
export const carryRun = defineJob<{ run_id: string }>(RUN_QUEUE, 'carry_run');
