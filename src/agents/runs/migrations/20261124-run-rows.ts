import { Migration } from '@mikro-orm/migrations';

/**
 * What belongs to a run goes with it by a trigger. A foreign key checks each row that is written, although the statement
 * that writes it has the row of the run locked, or makes it.
 */
export class RunRowsWithoutKeys extends Migration {
  override up(): void {
    this.addSql(`
      create function delete_rows_of_runs() returns trigger language plpgsql as $$
      begin
        delete from run_event e using gone where e.run_id = gone.id;
        delete from tool_call c using gone where c.run_id = gone.id;
        delete from run_step s using gone where s.run_id = gone.id;
        delete from message m using gone where m.run_id = gone.id;
        return null;
      end $$;
      create trigger run_rows_deleted after delete on run referencing old table as gone
        for each statement execute function delete_rows_of_runs();

      alter table run_event drop constraint run_event_run_id_fkey;
      alter table tool_call drop constraint tool_call_run_id_fkey;
      alter table run_step drop constraint run_step_run_id_fkey;
      alter table message drop constraint message_run_id_fkey;
    `);
  }
}
