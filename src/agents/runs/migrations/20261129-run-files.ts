import { Migration } from '@mikro-orm/migrations';

/** What a call has read or written, so that a run that is resumed overwrites nothing that it has not seen. */
export class RunFilesColumn extends Migration {
  override up(): void {
    this.addSql(`
      alter table tool_call add column files jsonb;
      comment on column tool_call.files is 'Files as the call has read or written them: path and etag of each';
    `);
  }
}
