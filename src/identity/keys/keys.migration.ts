import { Migration } from '@mikro-orm/migrations';

/** API keys of people and service accounts. */
export class KeysMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table api_key (
        id uuid primary key,
        user_id uuid references "user" on delete cascade deferrable initially deferred,
        name text not null,
        hash text not null,
        hint text not null,
        organization_id uuid references organization on delete cascade deferrable initially deferred,
        scopes text[],
        workspace_ids uuid[],
        expires_at timestamptz,
        last_used_at timestamptz,
        revoked_at timestamptz,
        created_at timestamptz not null,
        service_account_id uuid references service_account on delete cascade deferrable initially deferred,
        created_by uuid not null,
        -- The key that took its place, while this one still works for a while.
        replaced_by uuid,
        check ((user_id is null) <> (service_account_id is null))
      );
      create unique index api_key_hash_key on api_key (hash);
      create index api_key_user_id on api_key (user_id, id);
      create index api_key_service_account_id on api_key (service_account_id, id);
      create index api_key_organization_id on api_key (organization_id);

      create trigger key_revoked_told after update of revoked_at on api_key for each row
        when (old.revoked_at is null and new.revoked_at is not null) execute function tell_of_credential();
      create trigger key_deleted_told after delete on api_key for each row
        when (old.revoked_at is null) execute function tell_of_credential();
    `);
  }
}
