import { Migration } from '@mikro-orm/migrations';

/** What a file that says what an agent may was like when a person had saved it; null: not known, or not such a file. */
export class FileRevisions extends Migration {
  override up(): void {
    this.addSql('alter table workspace_change add column revision text;');
    this.addSql('alter table file_version add column revision text;');
  }
}
