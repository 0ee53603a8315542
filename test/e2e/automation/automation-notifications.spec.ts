import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type AgentGround, startAgents } from '../../harness/agent.js';
import { Automations } from '../../harness/automations.js';
import type { Json } from '../../harness/client.js';
import type { Person } from '../../harness/service.js';
import { settled as jobsSettled } from '../../harness/settled.js';
import { multipart, Visitor } from '../../harness/visitor.js';

let ground: AgentGround;
let workspace: string;
let own: Automations;
let editor: Person;

beforeAll(async () => {
  ground = await startAgents({ DEFAULT_MODEL: 'local/fake' });
  const { service, ada } = ground;
  workspace = await service.workspace(ada);
  own = new Automations(ada.client, workspace);
  editor = await service.person('Eve');
  await service.join(editor, {
    organization: ada.organizationId,
    role: 'guest',
    workspace,
    workspaceRole: 'editor',
  });
});
afterAll(() => ground.stop());

const listening = async (name: string, rules: string, code = 'true', by = own): Promise<Json> => {
  const path = await by.script(name, code, `on:\n  - notification: { ${rules} }`);
  return { path, ...(await by.deploy(path)) };
};

/** An automation that fails, of which its deployer is notified. */
const failing = async (name: string, more = '', by = own): Promise<Json> => {
  const path = await by.script(name, 'exit 1', `pause_after: off\n${more}`);
  return { path, ...(await by.deploy(path)) };
};

async function deliveries({ id }: Json, count: number): Promise<Json[]> {
  for (;;) {
    const found = await own.deliveries(`&deployment_id=${id}`);
    if (found.length < count) continue;
    const read = found
      .toReversed()
      .map(async one => (await own.client.get(`/api/automation/deliveries/${one.id}`)).body);
    return Promise.all(read);
  }
}

/** Resolves when all that anybody was notified of was read by the triggers. */
async function settled(): Promise<void> {
  for (;;) {
    await jobsSettled(ground.service, 'notifications');
    // A run that ended meanwhile has left another job.
    const [left] = await ground.service.database.query<{ n: number }>(
      `select (select count(*) from accepted_job where queue = 'notifications' and failed_at is null)::int
         + (select count(*) from automation_trigger t join automation_deployment d on d.id = t.deployment_id
         where t.kind = 'notification' and t.cursor < (select max(number) from notification n where n.user_id = (d.actor ->> 'id')::uuid))::int
         + (select count(*) from automation_run where state <> 'done')::int as n`,
    );
    if (left?.n === 0) return;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

it('is started by what its deployer is notified of, as its categories and filter say', async () => {
  const all = await listening('all', 'category: [automation]', 'cp "$ATELIER_INPUT" "$ATELIER_OUTPUT"');
  const critical = await listening('critical', 'category: [automation], filter: { severity: critical }');
  const failures = await listening('failures', 'filter: { type: automation.failed }');
  const others = await listening('others', 'category: [server]');
  const broken = await failing('broken');
  const run = await own.run(broken.path);
  const [delivery] = await deliveries(all, 1);
  expect(delivery).toMatchObject({
    kind: 'notification',
    state: 'accepted',
    payload: {
      notification: {
        type: 'automation.failed',
        category: 'automation',
        workspace_id: workspace,
        data: { deployment_id: broken.id, automation_run_id: run.run_id },
      },
    },
  });
  expect(delivery?.key).toBe(delivery?.payload.notification.id);
  expect(await own.ended(delivery as Json)).toMatchObject({
    trigger_kind: 'notification',
    status: 'completed',
    output: delivery?.payload,
  });
  expect(await deliveries(failures, 1)).toHaveLength(1);
  await settled();
  for (const deployment of [critical, others]) expect(await deliveries(deployment, 0)).toEqual([]);
  for (const { path } of [all, critical, failures, others, broken]) await own.stop(path);
});

it('is never started by what is told of itself, nor by what it led to', async () => {
  const itself = await listening('itself', 'category: [automation]', 'exit 1');
  const broken = await failing('starter');
  await own.run(broken.path);
  await deliveries(itself, 1);
  await settled();
  // Its own failure was told, too.
  expect((await deliveries(itself, 1)).map(({ state }) => state)).toEqual(['accepted']);
  const one = await listening(
    'one',
    'filter: { type: automation.failed, data.file_path: automations/two.md }',
    'exit 1',
  );
  const two = await listening(
    'two',
    'filter: { type: automation.failed, data.file_path: automations/one.md }',
    'exit 1',
  );
  await own.run(one.path);
  await deliveries(one, 2);
  await settled();
  expect((await deliveries(one, 2)).map(({ kind, state, reason }) => [kind, state, reason])).toEqual([
    ['manual', 'accepted', null],
    ['notification', 'skipped', 'own_change'],
  ]);
  expect((await deliveries(two, 1)).map(({ state }) => state)).toEqual(['accepted']);
  for (const { path } of [itself, broken, one, two]) await own.stop(path);
});

it('sees nothing of other people or other workspaces, and nothing of the time when it was not live', async () => {
  const { service, ada } = ground;
  const mine = await listening('mine', 'category: [automation]');
  const elsewhere = new Automations(ada.client, await service.workspace(ada));
  const there = await failing('there', '', elsewhere);
  await elsewhere.run(there.path);
  const theirs = new Automations(editor.client, workspace);
  const hers = await failing('hers', '', theirs);
  await theirs.run(hers.path);
  await settled();
  expect(await deliveries(mine, 0)).toEqual([]);
  await ada.client.post(`/api/automation/deployments/${mine.id}/pause`, {});
  const broken = await failing('meanwhile');
  await own.run(broken.path);
  await settled();
  await ada.client.post(`/api/automation/deployments/${mine.id}/resume`, {});
  await own.run(broken.path);
  expect(await deliveries(mine, 1)).toHaveLength(1);
  await settled();
  expect(await deliveries(mine, 1)).toHaveLength(1);
  // It goes by the inbox of whoever deployed it last.
  await theirs.deploy(mine.path);
  await theirs.run(hers.path);
  const found = await deliveries(mine, 2);
  expect(found[1]?.payload.notification.data.deployment_id).toBe(hers.id);
  for (const { path } of [mine, broken, hers]) await own.stop(path);
});

it('takes what visitors lead to as data from outside', async () => {
  const { service, ada } = ground;
  const path = await own.file(
    'visitors',
    'tools: ["*"]\non:\n  - notification: { category: [share] }',
    'Look.\n',
  );
  const deployment = await own.deploy(path);
  await own.write('drop/README.md', 'Put it here');
  const { body: share } = await ada.client.post('/api/share', {
    workspace_id: workspace,
    path: 'drop',
    allow: 'upload',
  });
  ground.model.reply([{ text: 'Seen.' }]);
  const { visit } = new Visitor(service.url);
  expect((await visit(`${new URL(share.url).pathname}/upload`, multipart([['a.txt', 'x']]))).status).toBe(
    200,
  );
  const [delivery] = await deliveries(deployment, 1);
  expect(delivery?.payload.notification.type).toBe('share.uploaded');
  await own.ended(delivery as Json);
  const offered = (ground.model.requests.at(-1) as unknown as Json).body.tools.map(
    (tool: Json) => tool.function.name,
  );
  expect(offered).toContain('write_file');
  expect(offered).not.toContain('bash');
  await own.stop(path);
});

it('is refused with a filter that leads nowhere', async () => {
  const path = await own.script(
    'nowhere',
    'true',
    'on:\n  - notification: { filter: { body.action: opened } }',
  );
  const { body } = await own.ask('validate', { file_path: path });
  expect(body).toMatchObject({
    valid: false,
    findings: [{ message: expect.stringContaining('leads nowhere') }],
  });
});
