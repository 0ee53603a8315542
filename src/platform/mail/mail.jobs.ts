import { Processor } from '@nestjs/bullmq';
import { defineJob, JobProcessor, JobRunner, workerOptions } from '../jobs/index.js';
import { Log } from '../log/index.js';
import { type MailAttempt, MailOutbox } from './mail-outbox.js';
import { MailRefused, Smtp } from './smtp.js';

/** The last attempt comes about an hour and a half after the first: 1 s, 4 s, 16 s … later. */
const MAX_ATTEMPTS = 8;
const backOffMs = (attempts: number) => 1000 * 4 ** (attempts - 1);

/** The queue of mail that is to be sent. */
export const MAIL = 'mail';

export const deliverMail = defineJob('deliver_mail', { queue: MAIL, payload: ['mail_id'] });

/** Hands mail to the SMTP server. */
@Processor(MAIL, workerOptions({ concurrency: 4 }))
export class MailProcessor extends JobProcessor {
  constructor(
    runner: JobRunner,
    private readonly outbox: MailOutbox,
    private readonly smtp: Smtp,
    private readonly log: Log,
  ) {
    super(runner);
    this.handle(deliverMail, payload => this.deliver(payload));
  }

  async deliver({ mail_id: id }: { mail_id: string }): Promise<number | undefined> {
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

  private async refused(attempt: MailAttempt, error: Error): Promise<number | undefined> {
    const { id, attempts } = attempt;
    const reason = error.message.slice(0, 500);
    if (error instanceof MailRefused || attempts >= MAX_ATTEMPTS) {
      this.log.error({ mail_id: id, attempts, reason }, 'a mail could not be sent');
      await this.outbox.settle(attempt, 'failed', reason);
      return undefined;
    }
    this.log.warn({ mail_id: id, attempts, reason }, 'sending a mail failed; trying again');
    await this.outbox.note(attempt, reason);
    return backOffMs(attempts);
  }
}
