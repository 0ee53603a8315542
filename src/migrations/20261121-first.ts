import { Migration } from '@mikro-orm/migrations';

/** Accounts, organizations, workspaces, chats and runs. */
export class First extends Migration {
  override up(): void {
    this.addSql(`
      create table installation (
        id int primary key default 1 check (id = 1),
        token_key text not null,
        setup_token_hash text,
        created_at timestamptz not null
      );

      create table "user" (
        id uuid primary key,
        email text not null,
        name text not null,
        password_hash text not null,
        installation_owner boolean not null,
        created_at timestamptz not null,
        updated_at timestamptz not null
      );
      create unique index user_email_key on "user" (email);
      create unique index user_one_installation_owner on "user" (installation_owner) where installation_owner;

      create table session (
        id uuid primary key,
        user_id uuid not null references "user" on delete cascade deferrable initially deferred,
        user_agent text,
        address text,
        created_at timestamptz not null,
        last_used_at timestamptz not null,
        expires_at timestamptz not null,
        revoked_at timestamptz
      );
      create index session_user_id on session (user_id);

      create table refresh_token (
        hash text primary key,
        session_id uuid not null references session on delete cascade deferrable initially deferred,
        created_at timestamptz not null,
        used_at timestamptz
      );
      create index refresh_token_session_id on refresh_token (session_id);

      create table organization (
        id uuid primary key,
        name text not null,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null
      );
      create table organization_member (
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        user_id uuid not null references "user" on delete cascade deferrable initially deferred,
        role text not null check (role in ('owner', 'admin', 'member', 'guest')),
        created_at timestamptz not null,
        primary key (organization_id, user_id)
      );
      create index organization_member_user_id on organization_member (user_id);

      create table api_key (
        id uuid primary key,
        user_id uuid not null references "user" on delete cascade deferrable initially deferred,
        name text not null,
        hash text not null,
        hint text not null,
        organization_id uuid references organization on delete cascade deferrable initially deferred,
        scopes text[],
        workspace_ids uuid[],
        expires_at timestamptz,
        last_used_at timestamptz,
        revoked_at timestamptz,
        created_at timestamptz not null
      );
      create unique index api_key_hash_key on api_key (hash);
      create index api_key_user_id on api_key (user_id, id);

      create table workspace (
        id uuid primary key,
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        name text not null,
        visibility text not null check (visibility in ('org', 'restricted', 'private')),
        number int not null generated always as identity,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null
      );
      create index workspace_organization_id on workspace (organization_id, id);
      create unique index workspace_number_key on workspace (number);
      create table workspace_member (
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        user_id uuid not null references "user" on delete cascade deferrable initially deferred,
        role text not null check (role in ('admin', 'editor', 'viewer')),
        created_at timestamptz not null,
        primary key (workspace_id, user_id)
      );
      create index workspace_member_user_id on workspace_member (user_id);

      create table chat (
        id uuid primary key,
        title text not null,
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        workspace_id uuid references workspace on delete cascade deferrable initially deferred,
        agent_name text,
        model text,
        pinned boolean not null,
        archived boolean not null,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        last_message_at timestamptz
      );
      create index chat_organization_id on chat (organization_id, created_at, id);
      create index chat_workspace_id on chat (workspace_id, created_at, id);
      create index chat_created_by on chat (created_by, created_at, id);

      create table run (
        id uuid primary key,
        number bigint not null generated always as identity,
        chat_id uuid not null references chat on delete cascade deferrable initially deferred,
        organization_id uuid not null,
        workspace_id uuid,
        status text not null check (status in ('pending', 'completed', 'error')),
        state text not null check (state in ('queued', 'running', 'waiting', 'stopping', 'done')),
        agent_name text,
        model text not null,
        model_used text,
        created_by uuid not null,
        actor jsonb not null,
        attempt int not null,
        lost int not null default 0,
        step_count int not null,
        last_event int not null,
        stop_reason text,
        error jsonb,
        response text,
        usage jsonb not null,
        cost_usd double precision,
        created_at timestamptz not null,
        started_at timestamptz,
        finished_at timestamptz,
        check ((status = 'pending') = (state <> 'done'))
      );
      create unique index run_number_key on run (number);
      create index run_chat_id on run (chat_id, number);
      create index run_workspace_id on run (workspace_id, number);
      create index run_pending on run (chat_id, number) where status = 'pending';

      -- Whoever watches or carries a run learns at once that it is gone, whatever it went with.
      create function tell_run_gone() returns trigger language plpgsql as $$
      begin
        perform pg_notify('atelier', prefix || old.id) from unnest(array['run:', 'run-hold:', 'end:']) prefix;
        return null;
      end $$;
      create trigger run_gone after delete on run for each row when (old.status = 'pending') execute function tell_run_gone();

      -- Goes with its run, and has no reference to its chat: that would lock chat and run in the order opposite to deleting.
      create table message (
        id uuid primary key,
        chat_id uuid not null,
        run_id uuid not null references run on delete cascade deferrable initially deferred,
        run_number bigint not null,
        number bigint not null generated always as identity,
        role text not null check (role in ('user', 'assistant')),
        step int,
        content jsonb not null,
        created_at timestamptz not null
      );
      create index message_chat_id on message (chat_id, run_number, number);
      create index message_run_id on message (run_id);

      create table run_step (
        run_id uuid not null references run on delete cascade deferrable initially deferred,
        number int not null,
        finish_reason text not null,
        model_used text,
        usage jsonb not null,
        cost_usd double precision,
        started_at timestamptz not null,
        finished_at timestamptz not null,
        primary key (run_id, number)
      );

      create table tool_call (
        run_id uuid not null references run on delete cascade deferrable initially deferred,
        step int not null,
        position int not null,
        call_id text not null,
        tool text not null,
        input jsonb,
        output text,
        is_error boolean not null,
        state text not null check (state in ('planned', 'started', 'finished')),
        started_at timestamptz,
        finished_at timestamptz,
        primary key (run_id, step, position)
      );

      create table run_event (
        run_id uuid not null references run on delete cascade deferrable initially deferred,
        id int not null,
        type text not null,
        data jsonb not null,
        created_at timestamptz not null,
        primary key (run_id, id)
      );

      create table job_outbox (
        id uuid primary key,
        queue text not null,
        name text not null,
        payload jsonb not null,
        created_at timestamptz not null
      );
    `);
  }
}
