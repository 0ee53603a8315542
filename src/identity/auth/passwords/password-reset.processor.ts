import { OnWorkerEvent, Processor } from '@nestjs/bullmq';

import type { Job } from 'bullmq';
import { JobProcessor } from '../../../platform/jobs/index.js';
import { ACCOUNT_QUEUE } from './password-reset.jobs.js';
import { PasswordResetService } from './password-reset.service.js';

/** Mails links to those who asked for a new password. */
@Processor(ACCOUNT_QUEUE, { concurrency: 2 })
export class PasswordResetProcessor extends JobProcessor<{ email: string }> {
  constructor(private readonly resets: PasswordResetService) {
    super();
  }

  protected async perform({ email }: { email: string }): Promise<undefined> {
    await this.resets.mailLink(email);
  }

  @OnWorkerEvent('failed')
  onFailed(_job: Job | undefined, error: Error): void {
    this.log.error({ err: error }, 'a password link could not be prepared');
  }
}
