import { Migration } from '@mikro-orm/migrations';

/** What the admins of a workspace have turned off there; those who look at lists and streams hear of it. */
export class WorkspaceFeatures extends Migration {
  override up(): void {
    this.addSql(`
      alter table workspace add column features_off text[] not null default '{}';

      create trigger workspace_features_told after update of features_off on workspace for each row
        when (old.features_off <> new.features_off) execute function tell_of_workspace();
      create trigger workspace_features_relisted after update of features_off on workspace for each row
        when (old.features_off <> new.features_off) execute function tell_workspaces();
    `);
  }
}
