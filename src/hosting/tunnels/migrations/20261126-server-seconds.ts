import { Migration } from '@mikro-orm/migrations';

/** How long servers run is entered into the ledger. */
export class ServerSeconds extends Migration {
  override up(): void {
    this.addSql(`
      alter table server_instance add column metered_until timestamptz;
      comment on column server_instance.metered_until is 'Until when its time is in the ledger';
      comment on column usage_entry.kind is
        'One of: model_call, tool_seconds, storage_byte_hours, build_seconds, server_seconds';
    `);
  }
}
