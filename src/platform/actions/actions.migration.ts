import { Migration } from '@mikro-orm/migrations';

/** The ledger of actions, and the tokens with which programs run them. */
export class ActionsMigration extends Migration {
  override up(): void {
    this.addSql(`
      -- No foreign keys: what a row tells of may be gone, and the row stays.
      create table action_run (
        id uuid primary key,
        action text not null,
        effect text,
        dry_run boolean not null,
        status text not null check (status in ('running', 'completed', 'error', 'validated', 'refused')),
        surface text not null,
        caller_kind text not null,
        caller_id text not null,
        actor_type text not null,
        actor_id uuid not null,
        actor_name text not null,
        on_behalf_of_id uuid,
        credential_type text not null,
        credential_id text not null,
        organization_id uuid,
        workspace_id uuid,
        request_id text,
        input jsonb,
        output jsonb,
        error jsonb,
        started_at timestamptz(3) not null,
        finished_at timestamptz(3),
        duration_ms int
      );
      create index action_run_actor_id on action_run (actor_id, id);
      create index action_run_organization_id on action_run (organization_id, id);
      create index action_run_workspace_id on action_run (workspace_id, id);
      create index action_run_caller_id on action_run (caller_id, id);
      create index action_run_running on action_run (started_at) where status = 'running';

      create function refuse_action_run_change() returns trigger language plpgsql as $$
      begin
        if tg_op = 'UPDATE' then
          if old.status = 'running' and new.status <> 'running'
            and to_jsonb(old) - '{status,output,error,finished_at,duration_ms}'::text[]
              = to_jsonb(new) - '{status,output,error,finished_at,duration_ms}'::text[]
          then return new; end if;
        end if;
        raise exception 'The ledger of actions is append-only but for the end of a run: % refused', tg_op
          using errcode = 'insufficient_privilege';
      end $$;
      create trigger action_run_append_only before update or delete on action_run
        for each row execute function refuse_action_run_change();
      create trigger action_run_no_truncate before truncate on action_run
        for each statement execute function refuse_action_run_change();

      create table exec_token (
        id uuid primary key,
        hash text not null unique,
        actor jsonb not null,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        caller_kind text not null,
        caller_id text not null,
        actions text[] not null,
        created_at timestamptz not null,
        expires_at timestamptz not null,
        revoked_at timestamptz
      );
      create index exec_token_workspace_id on exec_token (workspace_id);
      create index exec_token_caller_id on exec_token (caller_id);
      create index exec_token_credential_id on exec_token ((actor -> 'credential' ->> 'id'));
      create index exec_token_expires_at on exec_token (expires_at);
    `);
  }
}
