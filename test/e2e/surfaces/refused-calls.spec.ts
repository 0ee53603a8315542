import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AgentClient, type AgentGround, startAgents } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import type { Person, TestService } from '../../harness/service.js';

const UNKNOWN = `no_such_${'x'.repeat(3000)}`;

let ground: AgentGround;
let service: TestService;
let ada: Person;
let workspace_id: string;

beforeAll(async () => {
  ground = await startAgents();
  ({ service, ada } = ground);
  workspace_id = await service.workspace(ada);
});
afterAll(() => ground.stop());

/** The newest rows of the ledger, with what was written down of them. */
async function newest(count: number): Promise<Json[]> {
  const { body } = await ada.client.get(`/api/action-runs?limit=${count}`);
  return Promise.all(
    body.items.map(async ({ id }: Json) => (await ada.client.get(`/api/action-runs/${id}`)).body),
  );
}

it.each([
  ['a body that is no JSON', 'file_write', '{"input": ', 400, { effect: 'write', workspace_id: null }],
  ['a body that is no object', 'file_write', '[]', 422, { effect: 'write' }],
  ['a field that it has not', 'file_write', { mood: 1 }, 422, { effect: 'write', placed: true }],
  ['a switch that is none', 'file_write', { dry_run: 'maybe' }, 422, { effect: 'write', placed: true }],
  [
    'an input that does not fit',
    'file_write',
    { input: { path: 1 } },
    422,
    { effect: 'write', placed: true },
  ],
  ['a name that no action has', 'no_such', { input: { a: 1 } }, 404, { effect: null, placed: true }],
])(
  'a call over REST with %s is refused, and is in the ledger',
  async (_what, name, body, status, expected) => {
    const text = typeof body === 'string' ? body : JSON.stringify({ workspace_id, ...body });
    const answer = await ada.client.post(`/api/actions/${name}/run`, text);
    expect(answer.status).toBe(status);
    const { placed, ...fields } = expected as Json;
    const [row] = await newest(1);
    expect(row).toMatchObject({
      id: answer.headers.get('action-run-id'),
      action: name,
      status: 'refused',
      surface: 'rest',
      error: { status, detail: answer.body.detail },
      ...fields,
      ...(placed ? { workspace_id, organization_id: ada.organizationId } : {}),
    });
  },
);

it('a call with an Idempotency-Key is written down as well, once', async () => {
  const client = ada.client.with({ 'idempotency-key': 'no-json' });
  const [before] = await newest(1);
  expect((await client.post('/api/actions/file_write/run', '{')).status).toBe(400);
  const [row, other] = await newest(2);
  expect(row).toMatchObject({ action: 'file_write', status: 'refused', error: { status: 400 } });
  expect(other?.id).toBe(before?.id);
});

it('what is written down of a name that no action has is short, and nothing of its input', async () => {
  const input = { password: 'hunter2', text: 'z'.repeat(9000) };
  const mcp = ada.client.with({ accept: 'application/json, text/event-stream' });
  const answer = await mcp.post('/mcp', toolCall('actions_write', { name: 'x'.repeat(60), input }));
  expect(answer.body.result.isError).toBe(true);
  const [row] = await newest(1);
  expect(row).toMatchObject({ action: 'x'.repeat(60), effect: null, input: null, surface: 'mcp' });
  await ada.client.post(`/api/actions/${'y'.repeat(64)}/run`, { input });
  expect((await newest(1))[0]).toMatchObject({ action: 'y'.repeat(64), input: null });
});

const toolCall = (name: string, input: Json) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: input },
});

it.each([
  ['a name that no action has', 'actions_read', { name: 'no_such' }, 'no_such', null],
  ['no name', 'actions_write', { input: {} }, '', null],
  ['a field that it has not', 'actions_write', { name: 'file_write', mood: 1 }, 'file_write', 'write'],
  ['an input that does not fit', 'actions_write', { name: 'file_write', input: 3 }, 'file_write', 'write'],
  ['an input that does not fit its own tool', 'write_file', { path: 1 }, 'file_write', 'write'],
])('a call over MCP with %s is in the ledger', async (_what, tool, input, action, effect) => {
  const mcp = ada.client.with({ accept: 'application/json, text/event-stream' });
  const [before] = await newest(1);
  const { body } = await mcp.post('/mcp', toolCall(tool, input));
  expect(body.result.isError).toBe(true);
  const [row, other] = await newest(2);
  const detail = body.result.content[0].text;
  expect(row).toMatchObject({ action, effect, status: 'refused', surface: 'mcp', error: { detail } });
  expect(other?.id).toBe(before?.id);
});

it('calls of an agent that make no sense are in the ledger', async () => {
  const call = (input: Json) => ({ tool: { name: 'actions_run', input } });
  ground.model.reply([call({ name: 'no_such' }), call({ what: 1 }), { text: 'Tried.' }]);
  const { result } = await ground.agent.run('go', { workspace_id });
  expect(result.toolOutputs.map(({ is_error }: Json) => is_error)).toEqual([true, true]);
  const rows = await newest(2);
  expect(rows.map(({ action }) => action).sort()).toEqual(['', 'no_such']);
  for (const row of rows)
    expect(row).toMatchObject({ status: 'refused', surface: 'agent', workspace_id, on_behalf_of_id: ada.id });
});

it('calls of a script that make no sense are in the ledger, as many as one command may make', async () => {
  const script = `
import { request } from 'node:http';
const ask = (name, body) => new Promise((resolve, reject) => {
  const asked = request({ socketPath: process.env.ACTIONS_SOCKET, method: 'POST', path: '/api/actions-exec/' + name }, answer => {
    answer.resume().on('end', () => resolve(answer.statusCode));
  });
  asked.on('error', reject);
  asked.end(body);
});
const codes = [await ask('file_write', '{'), await ask('file_write', '[]'), await ask('file_write', '{"x":1}'),
  await ask('file_write', '{"input":{"path":1}}'), await ask('no-such.thing', '{}'), await ask('${UNKNOWN}', '{}')];
for (let n = 0; n < 98; n++) await ask('no_such', '{}');
console.log(JSON.stringify([...codes, await ask('no_such', '{}'), await ask('file_list', '{}')]));
`;
  await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, {
    path: 'nonsense.mjs',
    content: script,
  });
  const count = async () =>
    (await service.database.query<{ n: number }>('select count(*)::int as n from action_run'))[0]?.n ?? 0;
  const before = await count();
  const { result } = await new AgentClient(ada.client).run('run node nonsense.mjs', {
    workspace_id,
    model: 'atelier/demo',
  });
  expect(JSON.parse(result.toolOutputs[0].output)).toEqual([400, 422, 422, 422, 404, 404, 429, 200]);
  // A hundred that make no sense, one whose input does not fit, and the one that was run.
  expect((await count()) - before).toBe(102);
  const rows = await service.database.query<Json>(
    `select action, effect, status, workspace_id, error, input from action_run where surface = 'sandbox' order by id limit 6`,
  );
  const refused = { status: 'refused', workspace_id };
  expect(rows).toMatchObject([
    {
      ...refused,
      action: 'file_write',
      effect: 'write',
      error: { status: 400, detail: 'The body is not JSON' },
    },
    { ...refused, action: 'file_write', effect: 'write', error: { status: 422 } },
    { ...refused, action: 'file_write', effect: 'write', error: { status: 422 } },
    { ...refused, action: 'file_write', effect: 'write', error: { status: 422 } },
    { ...refused, action: 'no-such.thing', effect: null, error: { status: 404 } },
    { ...refused, action: UNKNOWN.slice(0, 64), effect: null, error: { status: 404 } },
  ]);
  for (const row of rows) expect(JSON.stringify(row).length).toBeLessThan(600);
});
