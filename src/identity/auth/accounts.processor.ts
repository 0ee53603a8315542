import { Processor } from '@nestjs/bullmq';
import { JobExecution, JobProcessor, workerOptions } from '../../platform/jobs/index.js';
import { ACCOUNTS, mailPasswordReset, PasswordResetService } from './passwords.service.js';

/** Executes jobs about accounts. */
@Processor(ACCOUNTS, workerOptions({ concurrency: 2 }))
export class AccountsProcessor extends JobProcessor {
  constructor(execution: JobExecution, resets: PasswordResetService) {
    super(execution);
    this.handle(mailPasswordReset, payload => resets.mailLink(payload));
  }
}
