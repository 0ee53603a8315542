import { Migration } from '@mikro-orm/migrations';

/** What sites keep outside of their workspaces, which counts as room of these, and when to look for what nothing needs any more. */
export class SiteStorageColumns extends Migration {
  override up(): void {
    this.addSql(`
      alter table site add column stored_bytes bigint not null default 0, add column sweep_at timestamptz;
      create index site_sweep_at on site (sweep_at) where sweep_at is not null;
    `);
  }
}
