import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type AgentGround, startAgents } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { settled } from '../../harness/settled.js';

let ground: AgentGround;
let workspace_id: string;

beforeAll(async () => {
  ground = await startAgents();
  const { service, ada } = ground;
  workspace_id = await service.workspace(ada);
  await ada.client.patch(`/api/workspaces/${workspace_id}/approval-policy`, { write: 'ask' });
});
afterAll(() => ground.stop());

const write = { name: 'write_file', input: { path: 'a.txt', content: 'x' } };

/** What Ada was told of a run, newest first. */
async function told({ call_id }: Json): Promise<Json[]> {
  await settled(ground.service, 'notifications');
  const { body } = await ground.ada.client.get('/api/notifications');
  return body.items.filter(({ data }: Json) => [data.call_id, data.run_id].includes(call_id));
}

/** A run that waits until somebody decides about the approval, whose id it answers. */
async function waiting(): Promise<{ run: Json; approval: string }> {
  ground.model.reply({ tools: [write] });
  const run = await ground.agent.send('go', { workspace_id, title: 'Plan', on_approval: 'wait' });
  const { data } = await ground.agent.until(run, ({ event }) => event === 'approval.requested');
  return { run, approval: data.approval_id };
}

async function allow(run: Json, approval: string): Promise<void> {
  ground.model.reply({ text: 'Done.' });
  await ground.ada.client.post(`/api/agent/approvals/${approval}`, { decision: 'allow' });
  expect((await ground.agent.ended(run)).status).toBe('completed');
}

it('a run that waits for an approval tells who it is asked of, until it is decided', async () => {
  const { run, approval } = await waiting();
  expect(await told(run)).toMatchObject([
    { type: 'approval.requested', data: { approval_id: approval }, workspace_id, read_at: null },
  ]);
  await allow(run, approval);
  expect(await told(run)).toMatchObject([{ type: 'approval.requested', read_at: expect.any(String) }]);
});

it('a run that failed tells why', async () => {
  ground.model.reply({ tools: [write] });
  const run = await ground.agent.run('go', { workspace_id, title: 'Plan', on_approval: 'fail' });
  expect(run.status).toBe('error');
  expect(await told(run)).toMatchObject([
    {
      type: 'run.failed',
      title: 'A run failed in “Plan”',
      body: expect.stringContaining('needs an approval'),
    },
  ]);
});

it('a run tells that it has finished where that took long', async () => {
  const { run, approval } = await waiting();
  await ground.service.database.query(
    "update run set started_at = now() - interval '6 minutes' where id = $1",
    [run.call_id],
  );
  expect(await told(run)).toHaveLength(1);
  await allow(run, approval);
  expect((await told(run)).map(({ type }) => type)).toEqual(['run.finished', 'approval.requested']);
});
