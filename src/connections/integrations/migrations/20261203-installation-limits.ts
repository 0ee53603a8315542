import { Migration } from '@mikro-orm/migrations';

/** Grants of GitHub Apps name repositories and permissions; tokens that are limited to them are kept for each set of these. */
export class InstallationLimits extends Migration {
  override up(): void {
    this.addSql(`
      -- None: those of the installation.
      alter table connection_grant
        add column repositories text[] not null default '{}',
        add column permissions jsonb not null default '{}';

      create table limited_token (
        token_set_id uuid primary key references token_set on delete cascade,
        connection_id uuid not null references integration_connection on delete cascade,
        -- {repositories, permissions}, written in one way.
        limits text not null,
        unique (connection_id, limits)
      );
    `);
  }

  override down(): void {
    this.addSql(`
      drop table limited_token;
      alter table connection_grant drop column repositories, drop column permissions;
    `);
  }
}
