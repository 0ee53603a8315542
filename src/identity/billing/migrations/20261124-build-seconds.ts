import { Migration } from '@mikro-orm/migrations';

/** Builds of sites are entered into the ledger, too. */
export class BuildSeconds extends Migration {
  override up(): void {
    this.addSql(
      "comment on column usage_entry.kind is 'One of: model_call, tool_seconds, storage_byte_hours, build_seconds'",
    );
  }
}
