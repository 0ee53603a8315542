import { Migration } from '@mikro-orm/migrations';

/** Secrets that the database keeps and cannot read. */
export class VaultMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table secret (
        id uuid primary key,
        place text not null,
        organization_id uuid references organization on delete cascade deferrable initially deferred,
        key_id text not null,
        wrapped_key bytea not null,
        sealed bytea not null,
        revision int not null,
        created_at timestamptz not null,
        rotated_at timestamptz
      );
      create index secret_place on secret (place);
      create index secret_key_id on secret (key_id);
      create index secret_organization_id on secret (organization_id) where organization_id is not null;
    `);
  }
}
