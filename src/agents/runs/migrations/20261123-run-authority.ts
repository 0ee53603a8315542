import { Migration } from '@mikro-orm/migrations';

/**
 * Whether a run keeps its authority is asked for by whoever carries it, which the triggers that publish changes of access
 * wake: none writes rows of runs any more. `run.authority_changed` stays for processes of the version before.
 */
export class RunAuthorityAsked extends Migration {
  override up(): void {
    this.addSql(`
      drop trigger key_revoked on api_key;
      drop trigger key_deleted on api_key;
      drop trigger grant_revoked on oauth_grant;
      drop trigger member_changed on organization_member;
      drop trigger service_account_changed on service_account;
      drop trigger workspace_member_changed on workspace_member;
      drop trigger workspace_visibility_changed on workspace;
      drop function doubt_runs_of_credential();
      drop function doubt_runs_of_principal();
      drop function doubt_runs_of_workspace();

      -- It published what run_gone publishes.
      drop trigger run_deleted_told on run;
      drop function tell_of_deleted_run();
    `);
  }
}
