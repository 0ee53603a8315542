import { Migration } from '@mikro-orm/migrations';

/** Workspaces, and the topics of lists of them. */
export class WorkspacesMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table workspace (
        id uuid primary key,
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        name text not null,
        visibility text not null check (visibility in ('org', 'restricted', 'private')),
        number int generated always as identity,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        features_off text[] not null default '{}'
      );
      create index workspace_organization_id on workspace (organization_id, id);
      create unique index workspace_number_key on workspace (number);

      create function tell_of_workspace() returns trigger language plpgsql as $$
      begin
        perform notify_topic('workspace-access:' || old.id);
        return null;
      end $$;
      create trigger workspace_visibility_told after update of visibility on workspace for each row
        when (old.visibility <> new.visibility) execute function tell_of_workspace();
      create trigger workspace_features_told after update of features_off on workspace for each row
        when (old.features_off <> new.features_off) execute function tell_of_workspace();
      create trigger workspace_deleted_told after delete on workspace for each row execute function tell_of_workspace();

      create function tell_workspaces() returns trigger language plpgsql as $$
      begin
        perform notify_topic('workspaces:' || coalesce(new.organization_id, old.organization_id));
        return null;
      end $$;
      create trigger workspace_listed after insert or delete on workspace
        for each row execute function tell_workspaces();
      create trigger workspace_relisted after update on workspace for each row
        when (old.name is distinct from new.name or old.visibility is distinct from new.visibility)
        execute function tell_workspaces();
      create trigger workspace_features_relisted after update of features_off on workspace for each row
        when (old.features_off <> new.features_off) execute function tell_workspaces();

      create function tell_workspaces_of_person() returns trigger language plpgsql as $$
      declare
        member organization_member := coalesce(new, old);
      begin
        perform notify_topic('workspaces:' || member.user_id);
        perform notify_topic('workspaces:' || id) from service_account
          where organization_id = member.organization_id and sponsor_id = member.user_id;
        return null;
      end $$;
      create trigger organization_member_listed after insert or update or delete on organization_member
        for each row execute function tell_workspaces_of_person();
    `);
  }
}
