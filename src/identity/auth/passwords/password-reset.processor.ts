import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject } from '@nestjs/common';
import type { Job } from 'bullmq';
import { Log } from '../../../platform/log/log.js';
import { ACCOUNT_QUEUE } from './password-reset.jobs.js';
import { PasswordResetService } from './password-reset.service.js';

/** Mails links to those who asked for a new password. */
@Processor(ACCOUNT_QUEUE, { concurrency: 2 })
export class PasswordResetProcessor extends WorkerHost {
  constructor(
    @Inject(PasswordResetService) private readonly resets: PasswordResetService,
    @Inject(Log) private readonly log: Log,
  ) {
    super();
  }

  async process({ data }: Job<{ email: string }>): Promise<void> {
    await this.resets.mailLink(data.email);
  }

  @OnWorkerEvent('failed')
  onFailed(_job: Job | undefined, error: Error): void {
    this.log.error({ err: error }, 'a password link could not be prepared');
  }
}
