import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../database/index.js';
import { Chore } from '../jobs/index.js';

const KEPT_DAYS = 30;
const SWEEP_MS = 86_400_000;

/** One mail to one address. */
export interface Mail {
  /** A bare address: `ada@example.com`. */
  readonly to: string;
  /** Sent as one line of at most 200 characters. */
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  /** Further headers, each sent on one line. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface MailAttempt {
  readonly id: string;
  readonly mail: Mail;
  /** How many there were, with this one. */
  readonly attempts: number;
}

/** The mails to send, and the record of those that were. */
@Injectable()
export class MailOutbox {
  constructor(private readonly database: Database) {}

  /** Begins an attempt to send it; undefined when it is settled or gone. The job of the mail sees to it that there is one at a time. */
  async begin(id: string): Promise<MailAttempt | undefined> {
    const row = await this.tables
      .updateTable('mail_outbox')
      .set({ attempts: sql`attempts + 1` })
      .where('id', '=', id)
      .where('state', '=', 'waiting')
      .returning(['recipient', 'subject', 'text', 'html', 'headers', 'attempts'])
      .executeTakeFirst();
    if (!row) return undefined;
    const { recipient: to, subject, text, html, headers, attempts } = row;
    return { id, mail: { to, subject, text: text ?? '', html: html ?? undefined, headers }, attempts };
  }

  /** Notes why an attempt failed for now. */
  async note(attempt: MailAttempt, reason: string): Promise<void> {
    await this.of(attempt).set({ reason }).execute();
  }

  /** Notes how it ended, and erases what it said. */
  async settle(attempt: MailAttempt, state: 'sent' | 'failed', reason: string | null): Promise<void> {
    await this.of(attempt)
      .set({ state, reason, text: null, html: null, headers: {}, settled_at: new Date().toISOString() })
      .execute();
  }

  /** The mail, unless another attempt has begun: then this one's process was taken for lost. */
  private of({ id, attempts }: MailAttempt) {
    return this.tables.updateTable('mail_outbox').where('id', '=', id).where('attempts', '=', attempts);
  }

  @Chore('remove_settled_mail', { everyMs: SWEEP_MS })
  async removeOld(): Promise<void> {
    await this.tables
      .deleteFrom('mail_outbox')
      .where('settled_at', '<', sql<string>`now() - make_interval(days => ${KEPT_DAYS})`)
      .execute();
  }

  private get tables() {
    return this.database.tables();
  }
}
