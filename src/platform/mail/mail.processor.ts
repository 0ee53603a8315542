import { OnWorkerEvent, Processor } from '@nestjs/bullmq';

import type { Job } from 'bullmq';
import { JobProcessor } from '../jobs/index.js';
import { MAIL_QUEUE } from './mail.jobs.js';
import { MailOutbox } from './mail-outbox.js';
import type { Mail } from './mailer.js';
import { MailRefused, Smtp } from './smtp.js';

/** The last attempt comes about an hour and a half after the first: 1 s, 4 s, 16 s … later. */
const MOST_ATTEMPTS = 8;
const backOffMs = (attempts: number) => 1000 * 4 ** (attempts - 1);

/** Hands mail to the SMTP server. A mail that is settled, or in the hands of another worker, is left alone. */
@Processor(MAIL_QUEUE, { concurrency: 4 })
export class MailProcessor extends JobProcessor<{ mail_id: string }> {
  constructor(
    private readonly outbox: MailOutbox,
    private readonly smtp: Smtp,
  ) {
    super();
  }

  protected async perform({ mail_id: id }: { mail_id: string }): Promise<Date | undefined> {
    const held = await this.outbox.hold(id);
    if (!held) return this.outbox.heldUntil(id);
    try {
      await this.smtp.deliver(id, held.mail);
    } catch (error) {
      return this.refused(id, held, error as Error);
    }
    await this.outbox.settle(id, 'sent', null);
    return undefined;
  }

  private async refused(
    id: string,
    { attempts }: { mail: Mail; attempts: number },
    error: Error,
  ): Promise<Date | undefined> {
    const reason = error.message.slice(0, 500);
    if (error instanceof MailRefused || attempts >= MOST_ATTEMPTS) {
      this.log.error({ mail_id: id, attempts, reason }, 'a mail could not be sent');
      await this.outbox.settle(id, 'failed', reason);
      return undefined;
    }
    this.log.warn({ mail_id: id, attempts, reason }, 'a mail was not taken; trying again');
    await this.outbox.release(id, reason);
    return new Date(Date.now() + backOffMs(attempts));
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job<{ mail_id: string }> | undefined, error: Error): void {
    this.log.error({ err: error, mail_id: job?.data.mail_id }, 'a mail job broke');
  }
}
