import { Migration } from '@mikro-orm/migrations';

/** The installation, and the people who have an account. */
export class AccountsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table installation (
        id int primary key default 1 check (id = 1),
        setup_token_hash text,
        created_at timestamptz not null,
        sandbox_uid_base bigint
      );

      insert into installation (id, created_at) values (1, now());

      create table "user" (
        id uuid primary key,
        email text not null,
        name text not null,
        password_hash text not null,
        installation_owner boolean not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        email_verified_at timestamptz
      );
      create unique index user_email_key on "user" (email);
      create unique index user_one_installation_owner on "user" (installation_owner) where installation_owner;
    `);
  }
}
