import { Migration } from '@mikro-orm/migrations';

/** Links sent by mail. */
export class AuthMigration extends Migration {
  override up(): void {
    this.addSql(`
      -- What was mailed to a person as a link: its hash. It is deleted by its use.
      create table email_token (
        hash text primary key,
        user_id uuid not null references "user" on delete cascade deferrable initially deferred,
        purpose text not null check (purpose in ('reset', 'verify', 'email')),
        created_at timestamptz not null,
        expires_at timestamptz not null,
        email text
      );
      create index email_token_user_id on email_token (user_id, purpose);
      create index email_token_expires_at on email_token (expires_at);
    `);
  }
}
