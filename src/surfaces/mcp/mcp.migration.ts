import { Migration } from '@mikro-orm/migrations';

/** Sessions of MCP clients, and questions to their users. */
export class McpMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table mcp_session (
        id uuid primary key,
        principal_id uuid not null,
        protocol_version text not null,
        client jsonb not null,
        subscriptions text[] not null default '{}',
        -- Which of its streams carries what is said unasked: the newest.
        stream_id uuid,
        created_at timestamptz not null,
        seen_at timestamptz not null
      );
      create index mcp_session_principal_id on mcp_session (principal_id, seen_at);
      create index mcp_session_seen_at on mcp_session (seen_at);

      create table mcp_question (
        id uuid primary key,
        session_id uuid not null references mcp_session on delete cascade,
        answer jsonb,
        asked_at timestamptz not null
      );
      create index mcp_question_session_id on mcp_question (session_id);
    `);
  }
}
