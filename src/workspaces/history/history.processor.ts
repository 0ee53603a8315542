import { Processor } from '@nestjs/bullmq';
import { JobExecution, JobProcessor, workerOptions } from '../../platform/jobs/index.js';
import { captureHistory, HISTORY, HistoryJobs } from './history.jobs.js';

/** Brings histories up to date. */
@Processor(HISTORY, workerOptions({ concurrency: 2, lockDuration: 60_000 }))
export class HistoryProcessor extends JobProcessor {
  constructor(execution: JobExecution, histories: HistoryJobs) {
    super(execution);
    this.handle(captureHistory, payload => histories.bringUpToDate(payload));
  }
}
