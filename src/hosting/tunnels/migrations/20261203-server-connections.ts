import { Migration } from '@mikro-orm/migrations';

/** Connections whose credentials requests of servers get. */
export class ServerConnectionsColumn extends Migration {
  override up(): void {
    this.addSql(`
      -- Ids of providers, or names of connections; on the authority of who started it.
      alter table server add column connections text[] not null default '{}';
    `);
  }

  override down(): void {
    this.addSql('alter table server drop column connections;');
  }
}
