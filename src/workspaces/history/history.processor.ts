import { Processor } from '@nestjs/bullmq';
import { JobProcessor, JobRunner, workerOptions } from '../../platform/jobs/index.js';
import { captureHistory, HISTORY, HistoryJobs } from './history.jobs.js';

/** Brings histories up to date. */
@Processor(HISTORY, workerOptions({ concurrency: 2, lockDuration: 60_000 }))
export class HistoryProcessor extends JobProcessor {
  constructor(runner: JobRunner, histories: HistoryJobs) {
    super(runner);
    this.handle(captureHistory, payload => histories.bringUpToDate(payload));
  }
}
