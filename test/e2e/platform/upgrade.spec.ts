import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { migrations } from '../../../src/migrations.js';
import { migrate } from '../../../src/platform/database/index.js';
import { AgentClient } from '../../harness/agent.js';
import { TestService } from '../../harness/service.js';

let service: TestService;
beforeAll(async () => {
  service = await TestService.start();
});
afterAll(() => service.stop());

/** Lets this migration find a database as it was before it. */
async function again(name: string, ...before: string[]): Promise<void> {
  for (const sql of before) await service.database.query(sql);
  await service.database.query(`delete from migration where name = '${name}'`);
  await migrate(service.database.url, migrations);
}

it('gives actions their new names wherever they are kept', async () => {
  const owner = await service.person();
  const workspace_id = await service.workspace(owner);
  const { run_id } = (await owner.client.post('/api/actions/file_list/run', { workspace_id })).body;
  const sent = await owner.client.post('/api/agent/message', { workspace_id, message: 'list' });
  await new AgentClient(owner.client).ended(sent.body);
  await again(
    '20261123-action-names',
    'alter table action_run disable trigger all',
    `update action_run set action = 'file_mkdir' where id = '${run_id}'`,
    'alter table action_run enable trigger all',
    `update run set tools_above = '[["bash", "action:chat_read", "action:chat_*"], [], ["action:file_delete"]]'`,
    `insert into exec_token (id, hash, actor, workspace_id, caller_kind, caller_id, actions, created_at, expires_at)
     values (gen_random_uuid(), 'x', '{}', '${workspace_id}', 'run', 'x', '{file_*,run_status,file_delete}', now(), now())`,
    `insert into approval (id, subject_kind, organization_id, tool, effect, requested_by, status, expires_at, created_at)
     values (gen_random_uuid(), 'mcp_call', '${owner.organizationId}', 'member_set_role', 'expose', '${owner.id}', 'pending',
       now() + interval '1 day', now())`,
  );
  const all = (sql: string) => service.database.query(sql);
  expect(await all('select action from action_run')).toEqual([{ action: 'folder_create' }]);
  expect(await all('select tools_above from run')).toEqual([
    { tools_above: [['bash', 'action:chat_get', 'action:chat_*'], [], ['action:file_delete']] },
  ]);
  expect(await all("select actions from exec_token where hash = 'x'")).toEqual([
    { actions: ['file_*', 'run_status_get', 'file_delete'] },
  ]);
  expect(await all('select tool from approval')).toEqual([{ tool: 'member_update' }]);
  await expect(all("update action_run set action = 'x'")).rejects.toThrow('append-only');
});
