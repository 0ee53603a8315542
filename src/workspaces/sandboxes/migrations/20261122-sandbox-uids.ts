import { Migration } from '@mikro-orm/migrations';

/** Where the host user ids of an installation's sandboxes begin; those that have files keep what these belong to. */
export class SandboxUids extends Migration {
  override up(): void {
    this.addSql(`
      alter table installation add column sandbox_uid_base bigint;
      update installation set sandbox_uid_base = 200000 where exists (select from workspace);
    `);
  }
}
