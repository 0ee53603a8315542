import { Migration } from '@mikro-orm/migrations';

/** What happens to the deployments and runs of a workspace, to be watched. */
export class AutomationEvents extends Migration {
  override up(): void {
    this.addSql(`
      create table automation_event_log (
        workspace_id uuid primary key references workspace on delete cascade deferrable initially deferred,
        last_event bigint not null default 0,
        pruned_through bigint not null default 0
      );
      -- An event has no number until somebody reads: those who write wait for nobody.
      create table automation_event (
        seq bigint generated always as identity primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        id bigint,
        type text not null,
        data jsonb not null,
        created_at timestamptz not null
      );
      create unique index automation_event_id on automation_event (workspace_id, id);
      create index automation_event_unnumbered on automation_event (workspace_id, seq) where id is null;
      create index automation_event_created_at on automation_event (created_at);
    `);
  }
}
