import { Migration } from '@mikro-orm/migrations';

/** Members of workspaces: people and service accounts. */
export class WorkspaceMembersMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table workspace_member (
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        principal_id uuid not null,
        role text not null check (role in ('admin', 'editor', 'viewer')),
        created_at timestamptz not null,
        primary key (workspace_id, principal_id)
      );
      create index workspace_member_principal_id on workspace_member (principal_id);

      create trigger workspace_member_changed_told after delete or update of role on workspace_member
        for each row execute function tell_of_principal('principal_id');

      create function tell_workspaces_of_principal() returns trigger language plpgsql as $$
      begin
        perform notify_topic('workspaces:' || coalesce(new.principal_id, old.principal_id));
        return null;
      end $$;
      create trigger workspace_member_listed after insert or update or delete on workspace_member
        for each row execute function tell_workspaces_of_principal();
    `);
  }
}
