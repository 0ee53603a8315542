import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject } from '@nestjs/common';
import { DelayedError, type Job } from 'bullmq';
import { Log } from '../log/log.js';
import { MAIL_QUEUE } from './mail.jobs.js';
import { MailOutbox } from './mail-outbox.js';
import type { Mail } from './mailer.js';
import { MailRefused, Smtp } from './smtp.js';

/** The last attempt comes about an hour and a half after the first: 1 s, 4 s, 16 s … later. */
const MOST_ATTEMPTS = 8;
const backOffMs = (attempts: number) => 1000 * 4 ** (attempts - 1);

/** Hands mail to the SMTP server. A mail that is settled, or in the hands of another worker, is left alone. */
@Processor(MAIL_QUEUE, { concurrency: 4 })
export class MailProcessor extends WorkerHost {
  constructor(
    @Inject(MailOutbox) private readonly outbox: MailOutbox,
    @Inject(Smtp) private readonly smtp: Smtp,
    @Inject(Log) private readonly log: Log,
  ) {
    super();
  }

  async process(job: Job<{ mail_id: string }>, token?: string): Promise<void> {
    const again = await this.attempt(job.data.mail_id);
    if (!again) return;
    await job.moveToDelayed(again.getTime(), token);
    throw new DelayedError();
  }

  /** Returns when to try again; undefined when the mail is settled. */
  private async attempt(id: string): Promise<Date | undefined> {
    const held = await this.outbox.hold(id);
    if (!held) return this.outbox.heldUntil(id);
    try {
      await this.smtp.deliver(id, held.mail);
    } catch (error) {
      return this.failed(id, held, error as Error);
    }
    await this.outbox.settle(id, 'sent', null);
    return undefined;
  }

  private async failed(
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
