import { Migration } from '@mikro-orm/migrations';

/**
 * The log of a workspace goes with it by a trigger. A foreign key checks each row that is written, although the statement that
 * writes it has the row of the workspace locked.
 */
export class ChangeRowsWithoutKeys extends Migration {
  override up(): void {
    this.addSql(`
      create function delete_changes_of_workspace() returns trigger language plpgsql as $$
      begin
        delete from workspace_change where workspace_id = old.id;
        delete from workspace_write where workspace_id = old.id;
        return null;
      end $$;
      create trigger workspace_changes_deleted after delete on workspace
        for each row execute function delete_changes_of_workspace();

      alter table workspace_change drop constraint workspace_change_workspace_id_fkey;
      alter table workspace_write drop constraint workspace_write_workspace_id_fkey;
    `);
  }
}
