import { Migration } from '@mikro-orm/migrations';

/** Sessions that whoever opened them goes on in by a name: one of a name, in whichever process it is. */
export class NamedSessions extends Migration {
  override up(): void {
    this.addSql(`
      alter table running_sandbox add column name text;
      create unique index running_sandbox_name on running_sandbox (workspace_id, caller_id, name) where name is not null;
    `);
  }

  override down(): void {
    this.addSql('alter table running_sandbox drop column name;');
  }
}
