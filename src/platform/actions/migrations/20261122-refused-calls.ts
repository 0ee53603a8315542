import { Migration } from '@mikro-orm/migrations';

/** A call of something that is no action is in the ledger, too, and has no effect. */
export class RefusedCalls extends Migration {
  override up(): void {
    this.addSql('alter table action_run alter column effect drop not null;');
  }
}
