import { Migration } from '@mikro-orm/migrations';

/** Which kinds of topics a process listens to; null where it does not say, and is sent all. */
export class ProcessTopics extends Migration {
  override up(): void {
    this.addSql('alter table process add column listens_to text[]');
  }
}
