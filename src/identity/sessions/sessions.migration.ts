import { Migration } from '@mikro-orm/migrations';

/** Sessions and their refresh tokens. */
export class SessionsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table session (
        id uuid primary key,
        user_id uuid not null references "user" on delete cascade deferrable initially deferred,
        user_agent text,
        address text,
        created_at timestamptz not null,
        last_used_at timestamptz not null,
        expires_at timestamptz not null,
        revoked_at timestamptz
      );
      create index session_user_id on session (user_id, id);

      create table refresh_token (
        hash text primary key,
        session_id uuid not null references session on delete cascade deferrable initially deferred,
        created_at timestamptz not null,
        used_at timestamptz
      );
      create index refresh_token_session_id on refresh_token (session_id);

      create function tell_of_credential() returns trigger language plpgsql as $$
      begin
        perform notify_topic('credential:' || old.id);
        return null;
      end $$;
      create trigger session_revoked_told after update of revoked_at on session for each row
        when (old.revoked_at is null and new.revoked_at is not null) execute function tell_of_credential();
      create trigger session_deleted_told after delete on session for each row
        when (old.revoked_at is null) execute function tell_of_credential();
    `);
  }
}
