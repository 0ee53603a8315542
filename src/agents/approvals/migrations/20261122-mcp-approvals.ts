import { Migration } from '@mikro-orm/migrations';

/** Whose client it is that a person is asked about, and what to call it. */
export class McpApprovals extends Migration {
  override up(): void {
    this.addSql(`
      alter table approval
        add column client_name text,
        add column credential_id text;
    `);
  }
}
