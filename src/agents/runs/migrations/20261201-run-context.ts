import { Migration } from '@mikro-orm/migrations';

/** How full the window of a run's model was after its newest step. */
export class RunContextColumn extends Migration {
  override up(): void {
    this.addSql(`
      alter table run add column context jsonb;
      comment on column run.context is 'Tokens of the context after the newest step, and the window of its model';
    `);
  }
}
