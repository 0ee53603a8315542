import { Migration } from '@mikro-orm/migrations';

/** Runs that wait are found by organization and person, so that these take turns. */
export class RunTurns extends Migration {
  override up(): void {
    this.addSql(`
      create index run_due_turns on run (organization_id, created_by, number) where due;
      -- The planner would sort what this one finds rather than go from person to person.
      drop index run_due;
    `);
  }
}
