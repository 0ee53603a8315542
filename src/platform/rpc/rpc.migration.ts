import { Migration } from '@mikro-orm/migrations';

/** Calls from one process to another. They end with either of the two, so a crash of the database may lose them. */
export class RpcMigration extends Migration {
  override up(): void {
    this.addSql(`
      create unlogged table rpc_call (
        id uuid primary key,
        -- The process that calls, and the one that is to answer.
        holder uuid not null,
        process_id uuid not null,
        method text not null,
        -- JSON, as bytes: text of PostgreSQL holds no NUL.
        input bytea not null,
        state text not null default 'waiting' check (state in ('waiting', 'running', 'refused', 'done')),
        is_cancelled boolean not null default false,
        result bytea
      );
      create index rpc_call_process_id on rpc_call (process_id);

      create unlogged table rpc_output (
        call_id uuid not null references rpc_call on delete cascade,
        number int not null,
        text bytea not null,
        primary key (call_id, number)
      );
    `);
  }
}
