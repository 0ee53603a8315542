import { Migration } from '@mikro-orm/migrations';

/** Versions go with their workspace by a trigger, as its log does. */
export class VersionRowsWithoutKeys extends Migration {
  override up(): void {
    this.addSql(`
      create function delete_versions_of_workspace() returns trigger language plpgsql as $$
      begin
        delete from file_version where workspace_id = old.id;
        return null;
      end $$;
      create trigger workspace_versions_deleted after delete on workspace
        for each row execute function delete_versions_of_workspace();

      alter table file_version drop constraint file_version_workspace_id_fkey;
    `);
  }
}
