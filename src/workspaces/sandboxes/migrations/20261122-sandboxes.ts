import { Migration } from '@mikro-orm/migrations';

/** Sessions and what they use; where sandboxes of a workspace may connect to. */
export class SandboxSessions extends Migration {
  override up(): void {
    this.addSql(`
      alter table running_sandbox
        add column kind text not null default 'command',
        -- As measured last; null before.
        add column memory_bytes bigint,
        add column cpu_ms bigint,
        add column processes int;

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

  override down(): void {
    this.addSql(`
      drop table workspace_egress;
      alter table running_sandbox
        drop column kind, drop column memory_bytes, drop column cpu_ms, drop column processes;
    `);
  }
}
