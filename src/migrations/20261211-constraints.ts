import { Migration } from '@mikro-orm/migrations';

/** The database refuses rows that belong to nothing, and values that do not exist. */
export class Constraints extends Migration {
  override up(): void {
    this.addSql(`
      alter table run
        add constraint run_state_of_status_check check ((status = 'pending') = (state <> 'done')),
        add constraint run_depth_of_parent_check check ((parent_id is null) = (depth = 0)),
        add constraint run_status_check check (status in ('pending', 'completed', 'error')),
        add constraint run_state_check check (state in ('queued', 'running', 'waiting', 'stopping', 'done')),
        add constraint run_delivery_check check (delivery in ('queue', 'reject', 'steer', 'interrupt')),
        add constraint run_on_approval_check check (on_approval in ('wait', 'fail', 'refuse'));
      alter table tool_call
        add constraint tool_call_state_check check (state in ('planned', 'started', 'finished'));
      alter table message add constraint message_role_check check (role in ('user', 'assistant'));
      alter table usage_entry
        add constraint usage_entry_kind_check check
          (kind in ('model_call', 'tool_seconds', 'storage_byte_hours', 'build_seconds', 'server_seconds'));
      alter table workspace_change
        add constraint workspace_change_kind_check check (kind in ('created', 'modified', 'deleted', 'moved'));

      drop trigger run_rows_deleted on run;
      drop function delete_rows_of_runs();
      delete from run_event where run_id not in (select id from run);
      delete from tool_call where run_id not in (select id from run);
      delete from run_step where run_id not in (select id from run);
      delete from message where run_id not in (select id from run);
      alter table run_event add constraint run_event_run_id_fkey
        foreign key (run_id) references run on delete cascade deferrable initially deferred;
      alter table tool_call add constraint tool_call_run_id_fkey
        foreign key (run_id) references run on delete cascade deferrable initially deferred;
      alter table run_step add constraint run_step_run_id_fkey
        foreign key (run_id) references run on delete cascade deferrable initially deferred;
      alter table message add constraint message_run_id_fkey
        foreign key (run_id) references run on delete cascade deferrable initially deferred;

      drop trigger workspace_changes_deleted on workspace;
      drop function delete_changes_of_workspace();
      drop trigger workspace_versions_deleted on workspace;
      drop function delete_versions_of_workspace();
      delete from workspace_change where workspace_id not in (select id from workspace);
      delete from workspace_write where workspace_id not in (select id from workspace);
      delete from file_version where workspace_id not in (select id from workspace);
      alter table workspace_change add constraint workspace_change_workspace_id_fkey
        foreign key (workspace_id) references workspace on delete cascade deferrable initially deferred;
      alter table workspace_write add constraint workspace_write_workspace_id_fkey
        foreign key (workspace_id) references workspace on delete cascade deferrable initially deferred;
      alter table file_version add constraint file_version_workspace_id_fkey
        foreign key (workspace_id) references workspace on delete cascade deferrable initially deferred;

      delete from automation_delivery where deployment_id not in (select id from automation_deployment);
      delete from automation_run where deployment_id not in (select id from automation_deployment);
      update automation_delivery set trigger_id = null where trigger_id not in (select id from automation_trigger);
      alter table automation_delivery
        add constraint automation_delivery_deployment_id_fkey
          foreign key (deployment_id) references automation_deployment on delete cascade deferrable initially deferred,
        add constraint automation_delivery_trigger_id_fkey
          foreign key (trigger_id) references automation_trigger on delete set null deferrable initially deferred;
      alter table automation_run add constraint automation_run_deployment_id_fkey
        foreign key (deployment_id) references automation_deployment on delete cascade deferrable initially deferred;
    `);
  }
}
