import { Migration } from '@mikro-orm/migrations';

export class FileInvitationsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table file_invitation (
        id uuid primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        path text not null,
        email text not null,
        role text not null check (role in ('viewer', 'editor')),
        token_hash text not null,
        invited_by uuid not null,
        accepted_by uuid,
        accepted_at timestamptz,
        created_at timestamptz not null,
        expires_at timestamptz not null
      );
      create unique index file_invitation_token_hash_key on file_invitation (token_hash);
      create index file_invitation_workspace_id on file_invitation (workspace_id, id);
      create index file_invitation_accepted_by on file_invitation (accepted_by, id);
    `);
  }
}
