import { Migration } from '@mikro-orm/migrations';

/** Mails may have headers of their own, such as those by which one unsubscribes. */
export class MailHeaders extends Migration {
  override up(): void {
    this.addSql(`alter table mail_outbox add column headers jsonb not null default '{}';`);
  }

  override down(): void {
    this.addSql('alter table mail_outbox drop column headers;');
  }
}
