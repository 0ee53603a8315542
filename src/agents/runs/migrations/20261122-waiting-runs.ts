import { Migration } from '@mikro-orm/migrations';

/**
 * A run whose tasks wait for people waits with them, and goes on when one of them does, ends or is gone. Whoever lets a task
 * go on holds the runs above it first, the uppermost before the others.
 */
export class WaitingRuns extends Migration {
  override up(): void {
    this.addSql(`
      create function wake_run_above() returns trigger language plpgsql as $$
      begin
        perform 1 from run where id = old.parent_id for update;
        update run set state = 'queued', due = parent_id is null, waiting_since = null,
          waited_ms = waited_ms + coalesce(extract(epoch from now() - waiting_since) * 1000, 0)
        where id = old.parent_id and status = 'pending' and state = 'waiting'
          and not exists (select from approval a where a.run_id = run.id and a.status = 'pending');
        if found then
          perform pg_notify('atelier', 'run:' || old.parent_id), pg_notify('atelier', 'runs-due');
        end if;
        return null;
      end $$;
      create trigger task_goes_on after update of state on run for each row
        when (old.state = 'waiting' and new.state <> 'waiting' and old.parent_id is not null)
        execute function wake_run_above();
      create trigger task_is_gone after delete on run for each row
        when (old.state = 'waiting' and old.parent_id is not null) execute function wake_run_above();
    `);
  }
}
