import { Processor } from '@nestjs/bullmq';
import { JobProcessor, JobRunner, workerOptions } from '../../../platform/jobs/index.js';
import { FORMS, writeResponses } from './response-scheduler.js';
import { ResponseWriter } from './response-writer.js';

/** Writes responses to the files of forms. */
@Processor(FORMS, workerOptions({ concurrency: 2, lockDuration: 60_000 }))
export class FormsProcessor extends JobProcessor {
  constructor(runner: JobRunner, responses: ResponseWriter) {
    super(runner);
    this.handle(
      writeResponses,
      payload => responses.write(payload),
      payload => responses.abandon(payload),
    );
  }
}
