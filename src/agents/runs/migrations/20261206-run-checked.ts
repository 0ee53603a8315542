import { Migration } from '@mikro-orm/migrations';

/** When the caller who started a run was looked up, so that the process that claims it need not ask again. */
export class RunCheckedColumn extends Migration {
  override up(): void {
    this.addSql('alter table run add column checked_at timestamptz');
  }
}
