import { Migration } from '@mikro-orm/migrations';

/** Sandboxes that run now, in any process. */
export class SandboxesMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table running_sandbox (
        id uuid primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        -- The process of the service that holds it, which dies with it.
        process_id uuid not null,
        node text not null,
        command text not null,
        caller_kind text not null,
        caller_id uuid,
        started_at timestamptz(3) not null,
        stop_requested boolean not null default false,
        kind text not null default 'command',
        -- As measured last; null before.
        memory_bytes bigint,
        cpu_ms bigint,
        processes int,
        name text
      );
      create index running_sandbox_workspace_id on running_sandbox (workspace_id, id);
      create index running_sandbox_process_id on running_sandbox (process_id);
      create unique index running_sandbox_name on running_sandbox (workspace_id, caller_id, name) where name is not null;
    `);
  }
}
