import { OnWorkerEvent, Processor } from '@nestjs/bullmq';

import type { Job } from 'bullmq';
import { JobProcessor } from '../jobs/index.js';
import { MAIL_QUEUE } from './mail.jobs.js';
import { type MailAttempt, MailOutbox } from './mail-outbox.js';
import { MailRefused, Smtp } from './smtp.js';

/** The last attempt comes about an hour and a half after the first: 1 s, 4 s, 16 s … later. */
const MOST_ATTEMPTS = 8;
const backOffMs = (attempts: number) => 1000 * 4 ** (attempts - 1);

/** Hands mail to the SMTP server. */
@Processor(MAIL_QUEUE, { concurrency: 4 })
export class MailProcessor extends JobProcessor<{ mail_id: string }> {
  constructor(
    private readonly outbox: MailOutbox,
    private readonly smtp: Smtp,
  ) {
    super();
  }

  protected async perform({ mail_id: id }: { mail_id: string }): Promise<Date | undefined> {
    const attempt = await this.outbox.begin(id);
    if (!attempt) return undefined;
    try {
      await this.smtp.deliver(id, attempt.mail);
    } catch (error) {
      return this.refused(attempt, error as Error);
    }
    await this.outbox.settle(attempt, 'sent', null);
    return undefined;
  }

  private async refused(attempt: MailAttempt, error: Error): Promise<Date | undefined> {
    const { id, attempts } = attempt;
    const reason = error.message.slice(0, 500);
    if (error instanceof MailRefused || attempts >= MOST_ATTEMPTS) {
      this.log.error({ mail_id: id, attempts, reason }, 'a mail could not be sent');
      await this.outbox.settle(attempt, 'failed', reason);
      return undefined;
    }
    this.log.warn({ mail_id: id, attempts, reason }, 'a mail was not taken; trying again');
    await this.outbox.note(attempt, reason);
    return new Date(Date.now() + backOffMs(attempts));
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job<{ mail_id: string }> | undefined, error: Error): void {
    this.log.error({ err: error, mail_id: job?.data.mail_id }, 'a mail job broke');
  }
}
