import { Migration } from '@mikro-orm/migrations';

/** Whether the answer to a request with a key is committed with its work, so that without one nothing was done. */
export class CommittedAnswers extends Migration {
  override up(): void {
    this.addSql('alter table idempotent_request add column commits_answer boolean not null default false');
  }
}
