import { Migration } from '@mikro-orm/migrations';

/** Comparisons that cover what goes on in a sandbox while no command runs there. */
export class BackgroundScans extends Migration {
  override up(): void {
    this.addSql('alter table workspace_scan add column background boolean not null default false;');
  }

  override down(): void {
    this.addSql('alter table workspace_scan drop column background;');
  }
}
