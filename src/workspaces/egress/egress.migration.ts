import { Migration } from '@mikro-orm/migrations';

/** Hosts that sandboxes of a workspace may connect to. */
export class EgressMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table workspace_egress (
        workspace_id uuid primary key references workspace on delete cascade deferrable initially deferred,
        mode text not null,
        hosts text[] not null,
        presets text[] not null,
        updated_by uuid not null,
        updated_at timestamptz(3) not null
      );
    `);
  }
}
