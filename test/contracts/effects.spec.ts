/**
 * What every action does to the world, as it was reviewed. An action that opens something to others, grants rights or
 * loosens a guard is `expose`: agents, scripts and applications do that only where a person is asked. Whoever adds an
 * action that is more than `read` adds it here, in the line that is true.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiDescription } from '../../src/api-description.js';
import { EFFECTS, POLICY } from '../../src/platform/access/index.js';
import { ActionCatalog, isGrave } from '../../src/platform/actions/index.js';
import type { Json } from '../harness/client.js';
import { TestService } from '../harness/service.js';

const REVIEWED = {
  expose: `
    agent_instructions_set approval_decide approval_policy_update organization_budget_set egress_update features_update form_preview form_share form_update file_invitation_create invitation_create
    invitation_resend key_create key_rotate key_update member_update model_settings_update organization_transfer
    service_account_adopt service_account_create service_account_key_create service_account_key_rotate
    service_account_update share_create share_update site_access_set site_token_create server_access_set server_token_create exposure_limit_set workspace_budget_set workspace_duplicate workspace_member_set
    connector_authorize connector_create connector_tool_update connector_update connector_workspace_set
    integration_authorize integration_client_set integration_create integration_grant_set integration_provider_create integration_provider_update integration_update
    git_repo_push
    automation_deploy automation_resume automation_rollback automation_secret_rotate
    workspace_visibility_set template_publish template_update webhook_create webhook_enable webhook_rotate webhook_update`,
  destructive: `
    connector_delete connector_revoke git_repo_delete
    integration_delete integration_provider_delete integration_request
    automation_pause automation_run_cancel automation_stop automation_webhook_delete workspace_secret_delete workspace_secret_set
    chat_delete file_delete file_invitation_revoke form_delete form_submission_delete grant_revoke invitation_revoke key_revoke member_remove
    organization_delete organization_leave queue_withdraw run_rollback sandbox_stop service_account_delete
    service_account_key_revoke share_revoke site_access_clear site_domain_delete site_exec_token_revoke site_token_revoke site_delete server_delete server_stop server_access_clear server_domain_delete server_exec_token_revoke server_token_revoke site_version_delete template_delete workspace_delete workspace_member_remove webhook_delete`,
  write: `
    automation_delivery_replay automation_run_replay automation_trigger connector_test integration_test
    git_repo_checkout git_repo_commit git_repo_create git_repo_pull git_repo_update
    loop_create loop_resume loop_stop
    account_update action_exec_run action_run agent_send chat_create chat_update file_batch_edit file_copy file_edit file_extract file_patch
    file_invitation_accept notification_archive notification_inbox_read notification_preferences_set notification_read notification_unread folder_create file_move file_restore file_upload file_write form_rebuild form_submission_accept invited_file_upload operation_cancel
    push_subscription_create push_subscription_delete webhook_attempt_resend webhook_recover webhook_test organization_create organization_update question_answer queue_update queue_steer run_stop server_create server_domain_create server_domain_verify server_restart server_start server_update site_auto_promote_resume site_create site_domain_create site_domain_verify site_lock site_unlock site_update site_version_cancel site_version_create site_version_pin site_version_promote template_clone tool_run workspace_create workspace_update`,
};
const reviewed = new Map(
  Object.entries(REVIEWED).flatMap(([effect, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name): [string, string] => [name, effect]),
  ),
);

let service: TestService;
let found: Map<string, { effect: string; consequence?: string }>;

beforeAll(async () => {
  service = await TestService.start();
  const { paths } = await apiDescription();
  const routes = Object.values(paths)
    .flatMap(item => Object.values(item as Record<string, Json>))
    .filter(operation => 'x-action' in operation)
    .map((operation): [string, Json] => [operation['x-action'], { effect: operation['x-effect'] }]);
  const catalog = service.app.get(ActionCatalog, { strict: false }).list();
  found = new Map([
    ...routes,
    ...catalog.map(({ name, declaration }): [string, Json] => [name, declaration]),
  ]);
});
afterAll(() => service.stop());

describe('every action that is more than read', () => {
  it('does to the world what was reviewed', () => {
    const changing = [...found].filter(([, { effect }]) => effect !== 'read');
    expect(Object.fromEntries(changing.map(([name, { effect }]) => [name, effect]))).toEqual(
      Object.fromEntries(reviewed),
    );
    expect([...new Set([...found.values()].map(({ effect }) => effect))].sort()).toEqual([...EFFECTS].sort());
  });

  it('does no more than its permission says, unless it asks for more permissions itself', () => {
    const asksForMore = ['operation_cancel', 'workspace_duplicate'];
    const rank = (effect: string) => (EFFECTS as readonly string[]).indexOf(effect);
    const beyond = service.app
      .get(ActionCatalog, { strict: false })
      .list()
      .filter(({ declaration: { effect, permission } }) =>
        permission ? rank(effect) > rank(POLICY[permission].effect) : false,
      );
    expect(beyond.map(({ name }) => name).sort()).toEqual(asksForMore);
  });

  it('says what becomes of it, in words of its own, where a person is asked', () => {
    for (const [name, { effect, consequence }] of found)
      if (isGrave(effect as never))
        expect([name, consequence]).toEqual([name, expect.stringMatching(/^[A-Z].{20,}\.$/)]);
    const restorable = ['file_delete', 'run_rollback', 'share_revoke'];
    for (const name of restorable) expect(found.get(name)?.consequence).toMatch(/put back|another one/);
  });
});
