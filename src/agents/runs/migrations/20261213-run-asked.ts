import { Migration } from '@mikro-orm/migrations';

/** What a run may do is asked for whenever it counts: nothing is remembered of when it was asked last. */
export class RunAuthorityNotKept extends Migration {
  override up(): void {
    this.addSql('alter table run drop column checked_at, drop column authority_changed');
  }
}
