import { Migration } from '@mikro-orm/migrations';

/** The images that a call gave, whose bytes are attachments of the chat. */
export class CallImagesColumn extends Migration {
  override up(): void {
    this.addSql(`
      alter table tool_call add column images jsonb;
      comment on column tool_call.images is 'Images that the call gave, as attachments of its chat';
    `);
  }
}
