import { Migration } from '@mikro-orm/migrations';

export class ShareMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table share_link (
        id uuid primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        path text not null,
        allow text not null check (allow in ('view', 'download', 'upload')),
        token_hash text not null,
        -- Encrypted with the installation's key, to be shown again to those who may manage the link.
        sealed_token text not null,
        password_hash text,
        expires_at timestamptz,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        views int not null default 0,
        downloads int not null default 0,
        uploads int not null default 0,
        last_opened_at timestamptz
      );
      create unique index share_link_token_hash_key on share_link (token_hash);
      create index share_link_workspace_id on share_link (workspace_id, id);
    `);
  }
}
