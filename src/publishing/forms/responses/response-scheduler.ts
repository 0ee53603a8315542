import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Database, newId } from '../../../platform/database/index.js';
import { defineJob, Jobs } from '../../../platform/jobs/index.js';
import { DueTimers } from '../../../platform/schedule/index.js';
import { submissionsTopic } from '../records/submissions.store.js';
import { WaitingStore } from '../records/waiting.store.js';

/** The queue of forms that have received responses. */
export const FORMS = 'forms';

export const writeResponses = defineJob('write_form_responses', { queue: FORMS, payload: ['form_id'] });

/** Enqueues forms that have responses to write, or are to be tried again. */
@Injectable()
export class ResponseScheduler implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly waiting: WaitingStore,
    private readonly jobs: Jobs,
    private readonly timers: DueTimers,
  ) {}

  onApplicationBootstrap(): void {
    this.timers.start({
      topic: submissionsTopic(),
      take: () => this.enqueue(),
      next: () => this.waiting.untilRetry(),
      failure: 'responses to forms are not written yet',
    });
  }

  private enqueue(): Promise<number> {
    return this.database.transaction(async unit => {
      const { ids, looked } = await this.waiting.take(unit);
      for (const form_id of ids) await this.jobs.enqueue(unit, writeResponses, newId(), { form_id });
      return looked;
    });
  }
}
