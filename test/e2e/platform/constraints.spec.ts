/** Rows that belong to nothing, and values that do not exist, are refused by the database itself. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AgentClient } from '../../harness/agent.js';
import { Automations } from '../../harness/automations.js';
import { TestService } from '../../harness/service.js';

const CHECK_VIOLATION = '23514';
const FOREIGN_KEY_VIOLATION = '23503';

let service: TestService;
let workspace: string;

beforeAll(async () => {
  service = await TestService.start();
  const ada = await service.person();
  workspace = await service.workspace(ada);
  const agent = new AgentClient(ada.client);
  const run = await agent.run('write a.txt: one', { workspace_id: workspace, model: 'atelier/demo' });
  expect(run.status).toBe('completed');
  const content = '---\nrun: bash\non:\n  - webhook: { verify: token }\n---\ntrue\n';
  const at = { path: 'automations/hook.md', content };
  await ada.client.put(`/api/workspaces/${workspace}/files/content`, at);
  const deployed = await ada.client.post('/api/automation/deployments', {
    workspace_id: workspace,
    file_path: at.path,
  });
  const { pathname } = new URL(deployed.body.secrets[0].url);
  const sent = await service.stranger.post(pathname, {});
  expect(sent.status).toBe(200);
  // Nothing works any more on the rows that are changed below.
  await new Automations(ada.client, workspace).ended(sent.body);
});
afterAll(() => service.stop());

const codeOf = (statement: string, values: unknown[] = []): Promise<unknown> =>
  service.database.query(statement, values).then(
    () => 'done',
    (error: { code?: string }) => error.code,
  );

it.each([
  ['run', 'status', 'lost'],
  ['run', 'state', 'lost'],
  ['run', 'state', 'queued'],
  ['run', 'delivery', 'lost'],
  ['run', 'on_approval', 'lost'],
  ['run', 'depth', 1],
  ['tool_call', 'state', 'lost'],
  ['message', 'role', 'system'],
  ['workspace_change', 'kind', 'lost'],
])('a %s whose %s is %s', async (table, column, value) => {
  expect(await codeOf(`update ${table} set ${column} = $1`, [value])).toBe(CHECK_VIOLATION);
});

it.each([
  ['run_event', 'run_id'],
  ['tool_call', 'run_id'],
  ['run_step', 'run_id'],
  ['message', 'run_id'],
  ['workspace_change', 'workspace_id'],
  ['automation_delivery', 'deployment_id'],
  ['automation_delivery', 'trigger_id'],
  ['automation_run', 'deployment_id'],
])('a %s whose %s is of nothing', async (table, column) => {
  const [row] = await service.database.query(`select count(*)::int as count from ${table}`);
  expect(row?.count).toBeGreaterThan(0);
  expect(await codeOf(`update ${table} set ${column} = gen_random_uuid()`)).toBe(FOREIGN_KEY_VIOLATION);
});

it.each([
  ['usage_entry', '(time, organization_id, kind) values (now(), $1, $2)', ['lost'], CHECK_VIOLATION],
  [
    'workspace_write',
    `(id, workspace_id, holder, writer_type, writer_id, targets, from_seq, began_at)
       values ($1, $1, $1, 'user', $2, '[]', 0, now())`,
    ['x'],
    FOREIGN_KEY_VIOLATION,
  ],
  [
    'file_version',
    `(id, workspace_id, path, kind, executable, unkept, replaced, changed_at)
       values ($1, $1, $2, 'created', false, 'full', false, now())`,
    ['a.txt'],
    FOREIGN_KEY_VIOLATION,
  ],
])('a new %s that is wrong', async (table, row, values, code) => {
  expect(await codeOf(`insert into ${table} ${row}`, [randomUUID(), ...values])).toBe(code);
});

it('rows go with what they belong to', async () => {
  await service.database.query('delete from workspace where id = $1', [workspace]);
  for (const table of ['workspace_change', 'workspace_write', 'file_version', 'automation_delivery'])
    expect([
      table,
      await service.database.query(`select 1 from ${table} where workspace_id = $1`, [workspace]),
    ]).toEqual([table, []]);
  for (const table of ['run', 'run_event', 'run_step', 'tool_call', 'message'])
    expect([table, await service.database.query(`select 1 from ${table}`)]).toEqual([table, []]);
});
