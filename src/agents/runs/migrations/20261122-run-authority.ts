import { Migration } from '@mikro-orm/migrations';

/** Runs learn that whoever started them may have lost a key, a membership or a role. */
export class RunAuthorityMarks extends Migration {
  override up(): void {
    this.addSql(`
      alter table run add column authority_changed boolean not null default false;

      create function doubt_runs_of_credential() returns trigger language plpgsql as $$
      declare
        doubted uuid;
      begin
        for doubted in
          update run set authority_changed = true
          where status = 'pending' and actor -> 'credential' ->> 'id' = old.id::text returning id
        loop
          perform pg_notify('atelier', 'run-hold:' || doubted);
        end loop;
        return null;
      end $$;
      create trigger key_revoked after update of revoked_at on api_key for each row
        when (old.revoked_at is null and new.revoked_at is not null) execute function doubt_runs_of_credential();
      create trigger key_deleted after delete on api_key for each row execute function doubt_runs_of_credential();
      create trigger grant_revoked after delete on oauth_grant for each row execute function doubt_runs_of_credential();

      create function doubt_runs_of_principal() returns trigger language plpgsql as $$
      declare
        principal uuid := (to_jsonb(old) ->> tg_argv[0])::uuid;
        doubted uuid;
      begin
        for doubted in
          update run set authority_changed = true
          where status = 'pending' and (created_by = principal or created_by in (
              select s.id from service_account s where s.sponsor_id = principal)) returning id
        loop
          perform pg_notify('atelier', 'run-hold:' || doubted);
        end loop;
        return null;
      end $$;
      create trigger member_changed after delete or update of role on organization_member
        for each row execute function doubt_runs_of_principal('user_id');
      create trigger service_account_changed after delete or update of role on service_account
        for each row execute function doubt_runs_of_principal('id');
      create trigger workspace_member_changed after delete or update of role on workspace_member
        for each row execute function doubt_runs_of_principal('principal_id');

      create function doubt_runs_of_workspace() returns trigger language plpgsql as $$
      declare
        doubted uuid;
      begin
        for doubted in
          update run set authority_changed = true where status = 'pending' and workspace_id = old.id returning id
        loop
          perform pg_notify('atelier', 'run-hold:' || doubted);
        end loop;
        return null;
      end $$;
      create trigger workspace_visibility_changed after update of visibility on workspace for each row
        when (old.visibility <> new.visibility) execute function doubt_runs_of_workspace();
    `);
  }
}
