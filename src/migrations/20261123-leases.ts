import { Migration } from '@mikro-orm/migrations';

/**
 * Everything that a process holds refers to its row in `process`. Columns in which processes of the version before write
 * until when they hold something stay, and are null in rows of this version.
 */
export class Leases extends Migration {
  override up(): void {
    this.addSql(`
      -- Where a process runs, so that others there see at once that it has ended.
      alter table process add column machine text, add column pid int, add column started text;

      -- What has no row of its own that a process could hold.
      create sequence lease_fence;
      create table lease (
        name text primary key,
        holder uuid not null,
        fence bigint not null default nextval('lease_fence')
      );

      alter table idempotent_request add column process_id uuid, alter column leased_until drop not null;
      alter table chore add column holder uuid;
      alter table running_sandbox alter column alive_until drop not null;
      alter table workspace_write alter column host drop not null, alter column pid drop not null;
      alter table workspace_scan add column holder uuid,
        alter column host drop not null, alter column pid drop not null;
    `);
  }
}
