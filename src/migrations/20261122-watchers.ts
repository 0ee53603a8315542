import { Migration } from '@mikro-orm/migrations';

/**
 * Streams learn that whoever reads them may not any more, by the topics `access:PRINCIPAL`, `credential:ID` and
 * `workspace-access:ID`; and whoever carries or watches a run learns that it was deleted.
 */
export class Watchers extends Migration {
  override up(): void {
    this.addSql(`
      create function tell_of_credential() returns trigger language plpgsql as $$
      begin
        perform pg_notify('atelier', 'credential:' || old.id);
        return null;
      end $$;
      create trigger key_revoked_told after update of revoked_at on api_key for each row
        when (old.revoked_at is null and new.revoked_at is not null) execute function tell_of_credential();
      create trigger key_deleted_told after delete on api_key for each row
        when (old.revoked_at is null) execute function tell_of_credential();
      create trigger session_revoked_told after update of revoked_at on session for each row
        when (old.revoked_at is null and new.revoked_at is not null) execute function tell_of_credential();
      create trigger session_deleted_told after delete on session for each row
        when (old.revoked_at is null) execute function tell_of_credential();
      create trigger grant_revoked_told after delete on oauth_grant for each row execute function tell_of_credential();

      create function tell_of_principal() returns trigger language plpgsql as $$
      declare
        principal uuid := (to_jsonb(old) ->> tg_argv[0])::uuid;
      begin
        perform pg_notify('atelier', 'access:' || principal);
        perform pg_notify('atelier', 'access:' || id) from service_account where sponsor_id = principal;
        return null;
      end $$;
      create trigger member_changed_told after delete or update of role on organization_member
        for each row execute function tell_of_principal('user_id');
      create trigger service_account_changed_told after delete or update of role on service_account
        for each row execute function tell_of_principal('id');
      create trigger workspace_member_changed_told after delete or update of role on workspace_member
        for each row execute function tell_of_principal('principal_id');

      create function tell_of_workspace() returns trigger language plpgsql as $$
      begin
        perform pg_notify('atelier', 'workspace-access:' || old.id);
        return null;
      end $$;
      create trigger workspace_visibility_told after update of visibility on workspace for each row
        when (old.visibility <> new.visibility) execute function tell_of_workspace();
      create trigger workspace_deleted_told after delete on workspace for each row execute function tell_of_workspace();

      create function tell_of_deleted_run() returns trigger language plpgsql as $$
      begin
        perform pg_notify('atelier', 'run:' || old.id), pg_notify('atelier', 'run-hold:' || old.id),
          pg_notify('atelier', 'end:' || old.id);
        return null;
      end $$;
      create trigger run_deleted_told after delete on run for each row
        when (old.status = 'pending') execute function tell_of_deleted_run();
    `);
  }
}
