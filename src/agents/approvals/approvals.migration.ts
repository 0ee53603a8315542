import { Migration } from '@mikro-orm/migrations';

/** Calls that wait for a person, and the policies that make them wait. */
export class ApprovalsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table approval (
        id uuid primary key,
        subject_kind text not null check (subject_kind in ('run_tool_call', 'mcp_call')),
        organization_id uuid references organization on delete cascade deferrable initially deferred,
        workspace_id uuid references workspace on delete cascade deferrable initially deferred,
        chat_id uuid,
        run_id uuid references run on delete cascade deferrable initially deferred,
        step int,
        position int,
        call_id text,
        tool text not null,
        effect text not null check (effect in ('read', 'write', 'destructive', 'expose')),
        input jsonb,
        requested_by uuid not null,
        status text not null check (status in ('pending', 'allowed', 'denied', 'expired', 'cancelled')),
        scope text check (scope in ('once', 'run')),
        note text,
        decided_by uuid,
        decided_at timestamptz,
        used_at timestamptz,
        expires_at timestamptz not null,
        created_at timestamptz not null,
        client_name text,
        credential_id text,
        -- How many reminders of it were sent; null: none are.
        reminders int,
        check ((subject_kind = 'run_tool_call') = (run_id is not null))
      );
      create unique index approval_call on approval (run_id, step, position) where run_id is not null;
      create index approval_workspace_id on approval (workspace_id, id);
      create index approval_chat_id on approval (chat_id, id);
      create index approval_requested_by on approval (requested_by, id);
      create index approval_organization_id on approval (organization_id);
      create index approval_pending on approval (expires_at) where status = 'pending';

      create table approval_policy (
        workspace_id uuid primary key references workspace on delete cascade deferrable initially deferred,
        read text not null check (read in ('auto', 'ask', 'deny')),
        write text not null check (write in ('auto', 'ask', 'deny')),
        destructive text not null check (destructive in ('auto', 'ask', 'deny')),
        deadline_seconds int not null check (deadline_seconds > 0),
        updated_by uuid not null,
        updated_at timestamptz not null,
        expose text not null default 'ask' check (expose in ('ask', 'deny'))
      );

      create function tell_of_policy() returns trigger language plpgsql as $$
      begin
        perform notify_topic('approval-policy:' || coalesce(new.workspace_id, old.workspace_id));
        return null;
      end $$;
      create trigger policy_changed after insert or update or delete on approval_policy
        for each row execute function tell_of_policy();
    `);
  }
}
