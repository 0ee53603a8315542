import { Migration } from '@mikro-orm/migrations';

/** Several may try to prove that a host is theirs; one is served there. */
export class CustomDomains extends Migration {
  override up(): void {
    this.addSql(`
      alter table host_name drop constraint host_name_pkey;
      create unique index host_name_slug on host_name (name) where source = 'slug';
      create unique index host_name_custom on host_name (name, kind, target_id) where source = 'custom';
      create unique index host_name_verified on host_name (name) where state = 'verified';
      create index host_name_checked on host_name (checked_at) where source = 'custom';
    `);
  }
}
