import { Migration } from '@mikro-orm/migrations';

/** The person who is asked is reminded once of a question that waits. */
export class QuestionReminders extends Migration {
  override up(): void {
    this.addSql(`alter table question add column reminded_at timestamptz;`);
  }
}
