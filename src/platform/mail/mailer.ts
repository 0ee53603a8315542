import { Injectable } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { Config } from '../config/index.js';
import { newId, UnitOfWork } from '../database/index.js';
import { Jobs } from '../jobs/index.js';
import { Log } from '../log/index.js';
import { deliverMail } from './mail.jobs.js';
import type { Mail } from './mail-outbox.js';

const MAX_SUBJECT = 200;

declare global {
  interface ColumnTypes {
    'mail_outbox.headers': Record<string, string>;
  }
}

/** Sends mail as part of a transaction: it leaves once that commits, and never when it does not. */
@Injectable()
export class Mailer {
  constructor(
    private readonly config: Config,
    private readonly jobs: Jobs,
    private readonly log: Log,
  ) {}

  /** Whether there is an SMTP server (SMTP_URL). Without one, {@link send} does nothing but say so in the log. */
  get isConfigured(): boolean {
    return this.config.smtpUrl !== undefined;
  }

  async send(unit: UnitOfWork, { to, text, html, headers = {}, ...mail }: Mail): Promise<void> {
    const subject = shortName(mail.subject, MAX_SUBJECT);
    if (!this.isConfigured) {
      this.log.info({ subject }, 'a mail was not sent, as SMTP_URL is not set');
      return;
    }
    const id = newId();
    await unit
      .tables()
      .insertInto('mail_outbox')
      .values({
        id,
        recipient: to,
        subject,
        text,
        html: html ?? null,
        headers: JSON.stringify(headers),
        state: 'waiting',
        attempts: 0,
        reason: null,
        created_at: new Date().toISOString(),
        settled_at: null,
      })
      .execute();
    await this.jobs.enqueue(unit, deliverMail, id, { mail_id: id });
  }
}
