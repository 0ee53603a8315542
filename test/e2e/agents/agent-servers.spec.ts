import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient, messagesOf } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { TestServers } from '../../harness/servers.js';
import { type Person, TestService } from '../../harness/service.js';

let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let workspace_id: string;

beforeAll(async () => {
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    DEFAULT_MODEL: 'local/small',
  });
  ada = await service.person();
  workspace_id = await service.workspace(ada);
});
afterAll(async () => {
  await service.stop();
  await model.stop();
});

/** What the model was told of its last calls. */
function told(): string {
  const request = model.requests.at(-1);
  return request
    ? messagesOf(request)
        .filter(({ role }) => role === 'tool')
        .map(({ content }) => content)
        .join('\n')
    : '';
}

it('an agent writes a web application, starts it and hands over its address; a person opens it to others', async () => {
  const agent = new AgentClient(ada.client);
  const content =
    "require('http').createServer((_, response) => response.end('made by an agent')).listen(process.env.PORT);";
  const server = { workspace_id, name: 'Shop', slug: 'shop', folder: 'shop', command: 'node server.js' };
  const action = (name: string, input: Json) => ({ name: 'actions_run', input: { name, input } });
  model.reply([
    { tool: { name: 'write_file', input: { path: 'shop/server.js', content } } },
    { tool: { name: 'actions_search', input: { query: 'start a web server and get its url' } } },
    { tool: action('server_create', server) },
    { text: 'It is at http://shop.servers.localhost' },
  ]);
  const run = await agent.run('Make me a shop', { workspace_id });
  expect(run.status).toBe('completed');
  expect(told()).toContain('server_create');
  const [made] = (await ada.client.get(`/api/tunnels?workspace_id=${workspace_id}`)).body.items;
  expect(told()).toContain(made.url);
  const servers = new TestServers(service, ada.client, workspace_id);
  expect(await servers.running(made.id)).toMatchObject({ state: 'running', command: 'node server.js' });
  expect((await servers.ask(made)).statusCode).toBe(401);

  model.reply([
    {
      tool: {
        name: 'actions_run',
        input: { name: 'server_access_set', input: { server_id: made.id, mode: 'public' } },
      },
    },
    { text: 'Everybody can see it.' },
  ]);
  const asked = await agent.send('Open it to everybody', { workspace_id, on_approval: 'wait' });
  await agent.until(asked, ({ event }) => event === 'approval.requested');
  expect((await servers.ask(made)).statusCode).toBe(401);
  const [approval] = (await ada.client.get(`/api/agent/approvals?chat_id=${asked.chat_id}`)).body.items;
  const decided = await ada.client.post(`/api/agent/approvals/${approval.id}`, { decision: 'allow' });
  expect(decided.status).toBe(200);
  await agent.events(asked);
  expect(told()).toContain('public');
  const answer = await servers.ask(made);
  expect([answer.statusCode, Buffer.concat(await answer.toArray()).toString()]).toEqual([
    200,
    'made by an agent',
  ]);
});
