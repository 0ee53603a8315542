import { Migration } from '@mikro-orm/migrations';

/** Templates: versions of workspaces from which others are made. */
export class TemplatesMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table template (
        id uuid primary key,
        -- Null: it comes with the service.
        organization_id uuid references organization on delete cascade deferrable initially deferred,
        -- What it is published from; it may be gone. Null: it comes with the service.
        workspace_id uuid,
        slug text not null,
        name text not null,
        description text not null,
        visibility text not null check (visibility in ('workspace_admins', 'org', 'installation')),
        created_by uuid,
        created_at timestamptz not null,
        updated_at timestamptz not null
      );
      create unique index template_organization_id_slug on template (organization_id, slug) nulls not distinct;
      create index template_workspace_id on template (workspace_id);

      create table template_version (
        id uuid primary key,
        template_id uuid not null references template on delete cascade,
        number int not null,
        state text not null check (state in ('publishing', 'published', 'blocked')),
        manifest jsonb not null default '{}',
        findings jsonb not null default '[]',
        skipped jsonb not null default '[]',
        files int not null default 0,
        bytes bigint not null default 0,
        published_by uuid,
        created_at timestamptz not null,
        chain jsonb
      );
      create unique index template_version_template_id_number on template_version (template_id, number);

      -- What a workspace was made of. The template may be gone.
      create table workspace_origin (
        workspace_id uuid primary key references workspace on delete cascade,
        template_id uuid not null,
        version int not null
      );
    `);
  }
}
