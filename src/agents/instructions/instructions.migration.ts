import { Migration } from '@mikro-orm/migrations';

/** Instructions of each organization for all of its agents. */
export class InstructionsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table agent_instructions (
        organization_id uuid primary key references organization on delete cascade,
        instructions text not null,
        updated_by uuid not null,
        updated_at timestamptz not null
      );
    `);
  }
}
