import { Migration } from '@mikro-orm/migrations';

/** What led to a notification. */
export class NotificationChains extends Migration {
  override up(): void {
    this.addSql(`
      alter table notification add column chain_depth int not null default 0, add column untrusted boolean not null default false;
    `);
  }
}
