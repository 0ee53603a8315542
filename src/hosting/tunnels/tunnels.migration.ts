import { Migration } from '@mikro-orm/migrations';

/** Servers, their instances and their logs. */
export class ServersMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table server (
        id uuid primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        slug text not null,
        name text not null,
        command text not null,
        -- Of the workspace, where the command runs; empty: its root.
        folder text not null default '',
        -- Names of its environment variables; their values are sealed.
        env_names text[] not null default '{}',
        env_sealed text,
        restart text not null default 'on_failure',
        -- Answers 200 to 399 once it is ready; null: it is ready when it accepts a connection.
        health_path text,
        -- Whether a changed server runs beside the one before until it is ready.
        overlap boolean not null default false,
        -- Without requests for so long, it is stopped until the next one; null: as the installation says, 0: never.
        sleep_after_seconds int,
        -- Null: whichever the program listens on.
        port int,
        host_header text not null default 'public',
        memory_bytes bigint,
        -- Actions of the catalog that its programs may run, on the authority of who started it.
        actions text[] not null default '{}',
        actor jsonb,
        wanted text not null default 'stopped',
        state text not null default 'stopped',
        -- Why it stands as it does.
        reason text,
        -- Rises whenever another process is to run it; instances of lower ones end.
        generation int not null default 0,
        restarts int not null default 0,
        next_attempt_at timestamptz,
        last_exit jsonb,
        last_request_at timestamptz,
        state_changed_at timestamptz not null,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        -- The number of the latest entry of its log.
        log_last_id bigint not null default 0,
        log_bytes bigint not null default 0,
        -- Ids of providers, or names of connections; on the authority of who started it.
        connections text[] not null default '{}',
        -- Null: what the manifest and the lock file say; empty: nothing.
        install_command text
      );
      create index server_workspace_id on server (workspace_id, id);
      create index server_to_start on server (state_changed_at) where state = 'starting';
      create index server_to_retry on server (next_attempt_at) where state = 'crashed';
      comment on column server.restart is 'One of: always, on_failure, never';
      comment on column server.host_header is 'One of: public, local';
      comment on column server.wanted is 'One of: running, stopped';
      comment on column server.state is 'One of: stopped, starting, running, crashed, failed, sleeping';

      create table server_instance (
        id uuid primary key,
        server_id uuid not null references server on delete cascade deferrable initially deferred,
        generation int not null,
        state text not null,
        -- The process of the service that runs it.
        holder uuid,
        -- Where other processes of the service reach it.
        address jsonb,
        -- Takes the place of another one once it is ready.
        is_successor boolean not null default false,
        -- The port that the program listens on.
        port int,
        memory_bytes bigint,
        cpu_ms bigint,
        exit jsonb,
        started_at timestamptz not null,
        ready_at timestamptz,
        ended_at timestamptz,
        metered_until timestamptz
      );
      create unique index server_instance_one on server_instance (server_id)
        where state in ('starting', 'running') and not is_successor;
      create index server_instance_server_id on server_instance (server_id, started_at);
      create index server_instance_holder on server_instance (holder) where holder is not null;
      comment on column server_instance.state is 'One of: starting, running, draining, ended';
      comment on column server_instance.metered_until is 'Until when its time is in the ledger';

      create table server_log (
        server_id uuid not null references server on delete cascade deferrable initially deferred,
        id bigint not null,
        instance_id uuid,
        stream text not null,
        text text not null,
        bytes int not null,
        created_at timestamptz not null,
        primary key (server_id, id)
      );
      comment on column server_log.stream is 'One of: stdout, stderr, system';
    `);
  }
}
