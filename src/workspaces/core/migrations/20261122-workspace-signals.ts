import { Migration } from '@mikro-orm/migrations';

/** Tells whoever looks at a list of workspaces that it is another now. */
export class WorkspaceSignals extends Migration {
  override up(): void {
    this.addSql(`
      create function tell_workspaces() returns trigger language plpgsql as $$
      begin
        perform pg_notify('atelier', 'workspaces:' || coalesce(new.organization_id, old.organization_id));
        return null;
      end $$;
      create trigger workspace_listed after insert or delete on workspace
        for each row execute function tell_workspaces();
      create trigger workspace_relisted after update on workspace for each row
        when (old.name is distinct from new.name or old.visibility is distinct from new.visibility)
        execute function tell_workspaces();

      create function tell_workspaces_of_principal() returns trigger language plpgsql as $$
      begin
        perform pg_notify('atelier', 'workspaces:' || coalesce(new.principal_id, old.principal_id));
        return null;
      end $$;
      create trigger workspace_member_listed after insert or update or delete on workspace_member
        for each row execute function tell_workspaces_of_principal();

      create function tell_workspaces_of_person() returns trigger language plpgsql as $$
      declare
        member organization_member := coalesce(new, old);
      begin
        perform pg_notify('atelier', 'workspaces:' || member.user_id);
        perform pg_notify('atelier', 'workspaces:' || id) from service_account
          where organization_id = member.organization_id and sponsor_id = member.user_id;
        return null;
      end $$;
      create trigger organization_member_listed after insert or update or delete on organization_member
        for each row execute function tell_workspaces_of_person();
    `);
  }
}
