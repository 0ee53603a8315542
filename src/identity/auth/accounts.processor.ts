import { Processor } from '@nestjs/bullmq';
import { JobProcessor, JobRunner, workerOptions } from '../../platform/jobs/index.js';
import { ACCOUNTS, mailPasswordReset, PasswordResetService } from './passwords.service.js';

/** Executes jobs about accounts. */
@Processor(ACCOUNTS, workerOptions({ concurrency: 2 }))
export class AccountsProcessor extends JobProcessor {
  constructor(runner: JobRunner, resets: PasswordResetService) {
    super(runner);
    this.handle(mailPasswordReset, payload => resets.mailLink(payload));
  }
}
