import { Migration } from '@mikro-orm/migrations';

/** Verified addresses, links sent by mail, and counts that slow guessing down. */
export class SignIn extends Migration {
  override up(): void {
    this.addSql(`
      alter table "user" add column email_verified_at timestamptz;

      -- What was mailed to a person as a link: its hash. It is deleted by its use.
      create table email_token (
        hash text primary key,
        user_id uuid not null references "user" on delete cascade deferrable initially deferred,
        purpose text not null check (purpose in ('reset', 'verify')),
        created_at timestamptz not null,
        expires_at timestamptz not null
      );
      create index email_token_user_id on email_token (user_id, purpose);
      create index email_token_expires_at on email_token (expires_at);

      create table attempt_count (
        key text primary key,
        count int not null,
        last_at timestamptz not null,
        expires_at timestamptz not null
      );
      create index attempt_count_expires_at on attempt_count (expires_at);

      drop index session_user_id;
      create index session_user_id on session (user_id, id);
    `);
  }
}
