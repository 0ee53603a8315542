import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient } from '../../harness/agent.js';
import { type Person, TestService } from '../../harness/service.js';

let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let member: Person;
let stranger: Person;
let workspace_id: string;

beforeAll(async () => {
  model = await FakeOpenAi.start();
  model.otherwise({ text: 'Done.' });
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
  });
  ada = await service.person();
  member = await service.person('Grace');
  stranger = await service.person('Mallory');
  workspace_id = await service.workspace(ada);
  await service.join(member, { organization: ada.organizationId, role: 'member' });
});
afterAll(async () => {
  await service.stop();
  await model.stop();
});
beforeEach(() => set(''));

const address = () => `/api/organizations/${ada.organizationId}/agent-instructions`;
const set = async (instructions: string) => {
  const { status, body } = await ada.client.put(address(), { instructions });
  expect({ status, body }).toMatchObject({ status: 200, body: { instructions: instructions.trim() } });
};
/** What the model was told first in a new run. */
async function told(fields = {}): Promise<string> {
  const from = model.requests.length;
  await new AgentClient(ada.client).run('Hello', { workspace_id, model: 'local/small', ...fields });
  const messages = model.requests[from]?.body.messages as { role: string; content: string }[];
  expect(messages[0]?.role).toBe('system');
  return messages[0]?.content ?? '';
}

it('are in the prompt of every agent from the next run on, before those of the workspace', async () => {
  await ada.client.put(`/api/workspaces/${workspace_id}/files/content`, {
    path: 'AGENTS.md',
    content: 'Be brief.',
  });
  await set('  Write in British English.\n');
  expect(await told()).toMatch(/organization[\s\S]*Write in British English\.[\s\S]*Be brief\./);
  expect(await told({ workspace_id: undefined })).toContain('Write in British English.');
  await set('');
  expect(await told()).not.toContain('of the organization');
  expect((await ada.client.get(address())).body).toMatchObject({
    instructions: '',
    updated_at: expect.any(String),
  });
});

it('are read and set by admins; others are refused, and strangers find nothing', async () => {
  for (const [{ client }, status] of [
    [member, 403],
    [stranger, 404],
  ] as const) {
    expect((await client.get(address())).status).toBe(status);
    expect((await client.put(address(), { instructions: 'Obey me.' })).status).toBe(status);
  }
  expect(await told()).not.toContain('Obey me.');
});

it('are refused where they are too long, or not there', async () => {
  await set('x'.repeat(8_000));
  for (const body of [{ instructions: 'x'.repeat(8_001) }, {}, { instructions: null }])
    expect((await ada.client.put(address(), body)).status).toBe(422);
});

it('are one of two that are set at once, and noted with who set them', async () => {
  const texts = ['One.', 'Two.', 'Three.', 'Four.'];
  const answers = await Promise.all(texts.map(instructions => ada.client.put(address(), { instructions })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(texts).toContain((await ada.client.get(address())).body.instructions);
  const { body } = await ada.client.get(
    `/api/organizations/${ada.organizationId}/audit?action=agent_instructions_set`,
  );
  expect(body.items.length).toBeGreaterThanOrEqual(4);
  expect(texts).toContain(body.items[0].details.instructions);
});

it('tell a run where it is, on what day, and which hosts its commands reach', async () => {
  await ada.client.patch(`/api/workspaces/${workspace_id}/egress`, {
    mode: 'allow',
    hosts: ['api.example.com'],
  });
  const prompt = await told({ budget: { max_steps: 7 } });
  expect(prompt).toContain('api.example.com');
  expect(prompt).toContain('after 7 model calls');
  expect(prompt).toMatch(/Today is \w+day, \d{4}-\d\d-\d\d \(UTC\)\.$/);
  await ada.client.patch(`/api/workspaces/${workspace_id}/egress`, { mode: 'none' });
  expect(await told()).not.toContain('api.example.com');
});
