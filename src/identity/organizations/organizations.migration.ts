import { Migration } from '@mikro-orm/migrations';

/** Organizations and their members. */
export class OrganizationsMigration extends Migration {
  override up(): void {
    this.addSql(`
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
    `);
  }
}
