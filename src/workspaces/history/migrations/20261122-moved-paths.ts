import { Migration } from '@mikro-orm/migrations';

/** Where files came from: the history of a path goes on there, and the log says what was moved away. */
export class MovedPaths extends Migration {
  override up(): void {
    this.addSql(`
      create index file_version_moved on file_version (workspace_id, left(path, 200) collate "C") where kind = 'moved';
      create index workspace_change_from_path on workspace_change (workspace_id, md5(from_path), seq) where from_path is not null;
    `);
  }
}
