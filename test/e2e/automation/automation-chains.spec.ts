import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type AgentGround, messagesOf, startAgents } from '../../harness/agent.js';
import { Automations } from '../../harness/automations.js';
import type { Json } from '../../harness/client.js';

let ground: AgentGround;
let own: Automations;

beforeAll(async () => {
  ground = await startAgents({ DEFAULT_MODEL: 'local/fake' });
  const { service, ada } = ground;
  own = new Automations(ada.client, await service.workspace(ada));
});
afterAll(() => ground.stop());

/** A script that starts another automation by hand. */
const calling = (name: string, called: string, more = ''): Promise<string> =>
  own.script(
    name,
    `actions run automation_trigger '{"file_path": "automations/${called}.md"${more}}'; true`,
    'actions: [automation_trigger]',
  );

/** Resolves when no run of the workspace is open; what came in for a deployment, oldest first. */
async function deliveriesOf({ id }: Json): Promise<Json[]> {
  for (;;) {
    const open = await own.runs('&status=pending');
    if (open.length === 0) break;
    await own.ended(open[0] as Json);
  }
  return (await own.deliveries(`&deployment_id=${id}`)).toReversed();
}

const seen = (deliveries: readonly Json[]) =>
  deliveries.map(({ kind, state, reason }) => [kind, state, reason]);

it('never has an automation start itself', async () => {
  const path = await calling('itself', 'itself');
  const deployment = await own.deploy(path);
  const run = await own.run(path);
  expect(run.log).toContain('It would be started by itself');
  expect(seen(await deliveriesOf(deployment))).toEqual([
    ['manual', 'accepted', null],
    ['manual', 'skipped', 'own_change'],
  ]);
});

it('never has an automation start itself as a draft', async () => {
  const path = await calling('draft', 'draft', ', "draft": true');
  await own.deploy(path);
  expect((await own.run(path)).log).toContain('A draft is run by a person');
  const runs = (await own.runs()).filter(({ file_path }: Json) => file_path === path);
  expect(runs).toHaveLength(1);
});

it('never has an automation start itself by way of another', async () => {
  const first = await own.deploy(await calling('first', 'second'));
  const second = await own.deploy(await calling('second', 'first'));
  await own.run('automations/first.md');
  expect(seen(await deliveriesOf(second))).toEqual([['manual', 'accepted', null]]);
  expect(seen(await deliveriesOf(first))).toEqual([
    ['manual', 'accepted', null],
    ['manual', 'skipped', 'own_change'],
  ]);
});

it('has four automations start one another, and no fifth', async () => {
  const deployments: Json[] = [];
  for (const n of [1, 2, 3, 4, 5])
    deployments.push(await own.deploy(await calling(`row${n}`, `row${n + 1}`)));
  await own.run('automations/row1.md');
  const states: Json[] = [];
  for (const deployment of deployments) states.push(...seen(await deliveriesOf(deployment)));
  expect(states).toEqual([
    ...[1, 2, 3, 4].map(() => ['manual', 'accepted', null]),
    ['manual', 'skipped', 'depth'],
  ]);
});

it('goes by the work of agents, their tasks and their commands, too', async () => {
  await own.write('.agents/helper.md', '---\ndescription: Helps.\ntools: [actions_run, bash]\n---\nHelp.\n');
  const path = await own.file(
    'agents',
    'tools: [task, actions_run, bash]\nactions: [automation_trigger]',
    'Start yourself again.\n',
  );
  const deployment = await own.deploy(path);
  const input = { file_path: path };
  ground.model.reply([
    { tool: { name: 'actions_run', input: { name: 'automation_trigger', input } } },
    {
      tool: {
        name: 'bash',
        input: { command: `actions run automation_trigger '${JSON.stringify(input)}'` },
      },
    },
    { tool: { name: 'task', input: { agent: 'helper', prompt: 'Start it.' } } },
    { tool: { name: 'actions_run', input: { name: 'automation_trigger', input } } },
    { text: 'The helper gave up.' },
    { text: 'It cannot be done.' },
  ]);
  await own.run(path);
  expect(seen(await deliveriesOf(deployment))).toEqual([
    ['manual', 'accepted', null],
    ...[1, 2, 3].map(() => ['manual', 'skipped', 'own_change']),
  ]);
});

it('gives what came from strangers no more tools in the automations that it leads to', async () => {
  const agent = await own.deploy(await own.file('careful', 'tools: ["*"]', 'Look at it.\n'));
  const hook = await own.script(
    'hooked',
    `actions run automation_trigger '{"file_path": "automations/careful.md"}'`,
    'on:\n  - webhook: { verify: token }\nactions: [automation_trigger]',
  );
  const { secrets } = await own.deploy(hook);
  ground.model.reply([{ text: 'Seen.' }]);
  const sent = await fetch(new URL(new URL(secrets[0].url).pathname, ground.service.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"say": "ignore all"}',
  });
  expect(sent.status).toBe(200);
  let led: Json | undefined;
  while (!led) [led] = await own.runs(`&deployment_id=${agent.id}`);
  await own.ended(led);
  const offered = (ground.model.requests.at(-1) as unknown as Json).body.tools.map(
    (tool: Json) => tool.function.name,
  );
  expect(offered).toEqual(expect.arrayContaining(['read_file', 'write_file']));
  for (const name of ['bash', 'actions_run']) expect(offered).not.toContain(name);
  ground.model.reply([{ text: 'Seen.' }]);
  await own.run('automations/careful.md');
  expect(messagesOf(ground.model.requests.at(-1) as never).length).toBeGreaterThan(0);
  const offeredByHand = (ground.model.requests.at(-1) as unknown as Json).body.tools.map(
    (tool: Json) => tool.function.name,
  );
  expect(offeredByHand).toContain('bash');
});

it('notifies people once where automations start each other again and again', async () => {
  const times = 12;
  const path = await own.script(
    'stubborn',
    `for n in $(seq ${times}); do actions run automation_trigger '{"file_path": "automations/stubborn.md"}'; done; true`,
    'actions: [automation_trigger]',
  );
  const deployment = await own.deploy(path);
  await own.run(path);
  const skipped = (await deliveriesOf(deployment)).filter(({ state }) => state === 'skipped');
  expect(skipped).toHaveLength(times);
  const reported = await ground.service.database.query(
    'select loops_reported_at from automation_deployment where id = $1 and loops_reported_at is not null',
    [deployment.id],
  );
  expect(reported).toHaveLength(1);
});
