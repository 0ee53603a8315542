import { Migration } from '@mikro-orm/migrations';

/** Runs that loops start, and one trigger that tells of the ends of all runs that no request waits for. */
export class UnattendedRunEnds extends Migration {
  override up(): void {
    this.addSql(`
      alter table run add column loop_id uuid, add column fresh_context boolean not null default false;
      comment on column run.loop_id is 'The loop of which it is an iteration';
      comment on column run.fresh_context is 'Its model, and those of later runs of the chat, see nothing of what was said before it';
      create index run_fresh_context on run (chat_id, number) where fresh_context;

      create function unattended_run_ended() returns trigger language plpgsql as $$
      begin
        perform notify_topic('unattended-ends');
        return null;
      end $$;
      create trigger unattended_run_ended after update of status on run for each row
        when ((new.automation_run_id is not null or new.loop_id is not null) and old.status = 'pending' and new.status <> 'pending')
        execute function unattended_run_ended();
      create trigger unattended_run_deleted after delete on run for each row
        when (old.automation_run_id is not null or old.loop_id is not null) execute function unattended_run_ended();
      drop trigger automation_run_ended on run;
      drop trigger automation_run_deleted on run;
      drop function automation_run_ended;
    `);
  }
}
