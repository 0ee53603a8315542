import { Migration } from '@mikro-orm/migrations';

/** Browsers that get notifications. */
export class Push extends Migration {
  override up(): void {
    this.addSql(`
      create table push_subscription (
        id uuid primary key,
        user_id uuid not null references "user" on delete cascade,
        -- Whoever has it and our key can send there; a browser has one.
        endpoint text not null unique,
        -- Sealed by the vault.
        keys bytea not null,
        created_at timestamptz not null
      );
      create index push_subscription_user_id on push_subscription (user_id);
    `);
  }

  override down(): void {
    this.addSql('drop table push_subscription;');
  }
}
