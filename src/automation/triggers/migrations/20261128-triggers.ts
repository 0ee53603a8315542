import { Migration } from '@mikro-orm/migrations';

/** Addresses of webhooks that are replaced, and what is due. */
export class Triggers extends Migration {
  override up(): void {
    this.addSql(`
      alter table automation_trigger drop column sealed_token;
      -- The address before the last rotation, which is good for a while.
      alter table automation_trigger add column old_token_hash text unique, add column old_token_until timestamptz;
    `);
  }
}
