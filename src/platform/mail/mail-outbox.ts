import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../database/index.js';
import { Maintenance } from '../maintenance/index.js';
import type { MailTables } from './mail-row.js';
import type { Mail } from './mailer.js';

/** Longer than an SMTP conversation can take; after that, the worker that had the mail is taken for dead. */
const HOLD_SECONDS = 300;
const KEPT_DAYS = 30;
const SWEEP_MS = 86_400_000;

/** The mails to send, and the record of those that were. */
@Injectable()
export class MailOutbox implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly maintenance: Maintenance,
  ) {}

  onModuleInit(): void {
    this.maintenance.every(SWEEP_MS, 'remove_settled_mail', () => this.removeOld());
  }

  /** Takes a waiting mail for one attempt; undefined when it is settled, gone or held by another worker. */
  async hold(id: string): Promise<{ mail: Mail; attempts: number } | undefined> {
    const row = await this.tables
      .updateTable('mail_outbox')
      .set({
        attempts: sql`attempts + 1`,
        held_until: sql`now() + make_interval(secs => ${HOLD_SECONDS})`,
      })
      .where('id', '=', id)
      .where('state', '=', 'waiting')
      .where(sql<boolean>`coalesce(held_until < now(), true)`)
      .returning(['recipient', 'subject', 'text', 'html', 'attempts'])
      .executeTakeFirst();
    if (!row) return undefined;
    const { recipient: to, subject, text, html, attempts } = row;
    return { mail: { to, subject, text: text ?? '', html: html ?? undefined }, attempts };
  }

  /** Until when another worker holds the mail; undefined when there is nothing left to do for it. */
  async heldUntil(id: string): Promise<Date | undefined> {
    const row = await this.tables
      .selectFrom('mail_outbox')
      .select('held_until')
      .where('id', '=', id)
      .where('state', '=', 'waiting')
      .executeTakeFirst();
    return row && new Date(row.held_until ?? Date.now());
  }

  /** Gives the mail back after an attempt that failed for now. */
  async release(id: string, reason: string): Promise<void> {
    await this.tables
      .updateTable('mail_outbox')
      .set({ held_until: null, reason })
      .where('id', '=', id)
      .execute();
  }

  /** Notes how it ended, and erases what it said. */
  async settle(id: string, state: 'sent' | 'failed', reason: string | null): Promise<void> {
    await this.tables
      .updateTable('mail_outbox')
      .set({ state, reason, text: null, html: null, held_until: null, settled_at: new Date().toISOString() })
      .where('id', '=', id)
      .execute();
  }

  private async removeOld(): Promise<void> {
    await this.tables
      .deleteFrom('mail_outbox')
      .where('settled_at', '<', sql<string>`now() - make_interval(days => ${KEPT_DAYS})`)
      .execute();
  }

  private get tables() {
    return this.database.tables<MailTables>();
  }
}
