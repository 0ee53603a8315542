import { Migration } from '@mikro-orm/migrations';

/** Outgoing mail. */
export class MailMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table mail_outbox (
        id uuid primary key,
        recipient text not null,
        subject text not null,
        text text,
        html text,
        state text not null check (state in ('waiting', 'sent', 'failed')),
        attempts int not null,
        held_until timestamptz,
        reason text,
        created_at timestamptz not null,
        settled_at timestamptz,
        headers jsonb not null default '{}',
        check ((state = 'waiting') = (settled_at is null))
      );
      create index mail_outbox_settled_at on mail_outbox (settled_at);
    `);
  }
}
