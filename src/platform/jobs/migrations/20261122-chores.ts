import { Migration } from '@mikro-orm/migrations';

/** When each chore is due, by the clock of the database. */
export class Chores extends Migration {
  override up(): void {
    this.addSql('create table chore (name text primary key, due_at timestamptz not null);');
  }
}
