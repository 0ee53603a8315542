import { Migration } from '@mikro-orm/migrations';

/** The plan of each run, as its agent last set it. */
export class PlansMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table plan (
        run_id uuid primary key references run on delete cascade,
        chat_id uuid not null,
        items jsonb not null,
        updated_at timestamptz not null
      );
      create index plan_chat_id on plan (chat_id);
    `);
  }
}
