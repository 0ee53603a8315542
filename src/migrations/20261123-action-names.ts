import { Migration } from '@mikro-orm/migrations';

/** Every action is called by a noun and a verb: old name → new name. */
const RENAMED = {
  account_read: 'account_get',
  action_exec_read: 'action_exec_get',
  action_read: 'action_get',
  action_run_read: 'action_run_get',
  approval_policy_read: 'approval_policy_get',
  approval_read: 'approval_get',
  billing_read: 'billing_get',
  billing_set_budget: 'organization_budget_set',
  billing_usage: 'billing_usage_get',
  chat_events: 'chat_watch',
  chat_messages: 'chat_message_list',
  chat_read: 'chat_get',
  egress_read: 'egress_get',
  features_read: 'features_get',
  file_history: 'file_version_list',
  file_mkdir: 'folder_create',
  key_read: 'key_get',
  member_set_role: 'member_update',
  model_settings_read: 'model_settings_get',
  operation_events: 'operation_watch',
  operation_read: 'operation_get',
  organization_read: 'organization_get',
  principal_read: 'principal_get',
  queue_edit: 'queue_update',
  run_events: 'run_watch',
  run_read: 'run_get',
  run_status: 'run_status_get',
  sandbox_end: 'sandbox_stop',
  service_account_read: 'service_account_get',
  share_read: 'share_get',
  workspace_budget_read: 'workspace_budget_get',
  workspace_events: 'workspace_watch',
  workspace_member_put: 'workspace_member_set',
  workspace_read: 'workspace_get',
  workspace_set_visibility: 'workspace_visibility_set',
  workspace_shares: 'workspace_share_list',
};

/** The names of actions where they are kept: in the ledger, in what people are asked, and in lists of what may be run. */
export class ActionNames extends Migration {
  override up(): void {
    const names = Object.entries(RENAMED).map(([old, name]) => `('${old}', '${name}')`);
    this.addSql(`
      create temporary table renamed (old text primary key, name text not null) on commit drop;
      insert into renamed values ${names.join(', ')};

      alter table action_run disable trigger action_run_append_only;
      update action_run set action = r.name from renamed r where action = r.old;
      alter table action_run enable trigger action_run_append_only;

      update approval set tool = r.name from renamed r where tool = r.old;

      update exec_token set actions = (
        select array_agg(coalesce(r.name, each) order by place)
        from unnest(actions) with ordinality listed (each, place) left join renamed r on r.old = each
      ) where actions && (select array_agg(old) from renamed);

      update run set tools_above = (
        select jsonb_agg((
          select coalesce(jsonb_agg(coalesce('action:' || r.name, tool) order by place), '[]')
          from jsonb_array_elements_text(list) with ordinality listed (tool, place)
          left join renamed r on 'action:' || r.old = tool
        ) order by level)
        from jsonb_array_elements(tools_above) with ordinality lists (list, level)
      ) where tools_above <> '[]';
    `);
  }
}
