import { Migration } from '@mikro-orm/migrations';

/** One key for a workspace and a path: with two columns, PostgreSQL may prefer an index by the workspace alone. */
export class ChangePlaces extends Migration {
  override up(): void {
    this.addSql(`
      create index workspace_change_place on workspace_change (md5(workspace_id::text || path), seq);
      create index workspace_change_from_place on workspace_change (md5(workspace_id::text || from_path), seq) where from_path is not null;
      drop index workspace_change_path;
      drop index workspace_change_from_path;
    `);
  }
}
