import { Migration } from '@mikro-orm/migrations';

/** Organizations may have the budget of the installation's settings, until somebody sets another. */
export class DefaultBudgetRows extends Migration {
  override up(): void {
    this.addSql('alter table budget add column is_default boolean not null default false;');
  }
}
