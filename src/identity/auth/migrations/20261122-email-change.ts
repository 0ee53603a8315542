import { Migration } from '@mikro-orm/migrations';

/** Links that move an account to another address: they say to which. */
export class EmailChange extends Migration {
  override up(): void {
    this.addSql(`
      alter table email_token
        add column email text,
        drop constraint email_token_purpose_check,
        add constraint email_token_purpose_check check (purpose in ('reset', 'verify', 'email'));
    `);
  }
}
