import { Migration } from '@mikro-orm/migrations';

/** What installs the dependencies of servers. */
export class ServerInstallColumn extends Migration {
  override up(): void {
    this.addSql(`
      -- Null: what the manifest and the lock file say; empty: nothing.
      alter table server add column install_command text;
    `);
  }

  override down(): void {
    this.addSql('alter table server drop column install_command;');
  }
}
