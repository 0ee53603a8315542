import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { InvalidSetting } from '#libs/env-settings/index.js';
import { ModelCatalog } from '../../../src/agents/models/index.js';
import { Config } from '../../../src/platform/config/index.js';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

const DEMO = 'atelier/demo';
const NOT_ENABLED = 'is not enabled for this organization, which an admin can change';

let folder: string;
let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let member: Person;
let stranger: Person;
let agent: AgentClient;
let workspace_id: string;

const priceFile = (content: string): string => {
  const file = path.join(folder, `prices-${Math.random()}.json`);
  writeFileSync(file, content);
  return file;
};

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'atelier-prices-'));
  model = await FakeOpenAi.start();
  model.otherwise({ text: 'Done.' });
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small,large',
    MODEL_PRICES: priceFile(
      JSON.stringify({ 'local/small': { price: { input: 0.2, output: 0.6 }, context_window: 131_072 } }),
    ),
  });
  ada = await service.person();
  member = await service.person('Grace');
  stranger = await service.person('Mallory');
  agent = new AgentClient(ada.client);
  workspace_id = await service.workspace(ada);
  await service.join(member, { organization: ada.organizationId, role: 'member' });
});
afterAll(async () => {
  await service.stop();
  await model.stop();
  rmSync(folder, { recursive: true, force: true });
});

const address = (organization = ada.organizationId) => `/api/organizations/${organization}/models`;
const decide = async (input: Json) => {
  const { status, body } = await ada.client.put(address(), input);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body;
};
const allowAll = () => decide({ enabled: [DEMO, 'local/small', 'local/large'], new_models: 'enabled' });
const listed = async (client = ada.client, query = `?organization_id=${ada.organizationId}`) =>
  (await client.get(`/api/models${query}`)).body.items as Json[];

describe('the models of a fresh organization', () => {
  it('are all enabled, with prices and context windows where they are known', async () => {
    const { status, body } = await stranger.client.get('/api/models');
    expect(status).toBe(200);
    expect(body.items).toEqual([
      {
        id: 'local/small',
        provider: 'local',
        name: 'small',
        enabled: true,
        default: true,
        context_window: 131_072,
        price: { input: 0.2, output: 0.6, cache_read: null, cache_write: null },
        input: [],
      },
      expect.objectContaining({ id: 'local/large', enabled: true, default: false, price: null }),
      expect.objectContaining({ id: DEMO, price: { input: 0, output: 0, cache_read: 0, cache_write: 0 } }),
    ]);
    expect((await stranger.client.get(address(stranger.organizationId))).body).toEqual({
      enabled: ['local/small', 'local/large', DEMO],
      disabled: [],
      default: null,
      fallback: [],
      new_models: 'enabled',
    });
  });

  it('are not shown for an organization one is not in', async () => {
    expect((await stranger.client.get(`/api/models?organization_id=${ada.organizationId}`)).status).toBe(404);
  });
});

describe('an admin', () => {
  it('enables some models, with a default, and everyone sees why the others cannot be used', async () => {
    const decided = await decide({ enabled: ['local/large', DEMO, DEMO], default: DEMO });
    expect(decided).toEqual({
      enabled: ['local/large', DEMO],
      disabled: ['local/small'],
      default: DEMO,
      fallback: [],
      new_models: 'disabled',
    });
    expect((await ada.client.get(address())).body).toEqual(decided);
    const seen = await listed(member.client);
    expect(
      seen.map(({ id, enabled, default: isDefault, reason }) => [id, enabled, isDefault, reason]),
    ).toEqual([
      ['local/large', true, false, undefined],
      [DEMO, true, true, undefined],
      ['local/small', false, false, `the model "local/small" ${NOT_ENABLED}`],
    ]);
  });

  it.each([
    [
      'models that are not there',
      { enabled: [DEMO, 'nobody/x', 'atelier/other'] },
      'nobody/x, atelier/other',
    ],
    [
      'a default that is not enabled',
      { enabled: [DEMO], default: 'local/small' },
      'default must be one of enabled',
    ],
    ['no list', { new_models: 'enabled' }, 'enabled is required'],
    ['a policy that is none', { enabled: [DEMO], new_models: 'some' }, 'new_models must be one of'],
  ])('is refused %s, and nothing changes', async (_, input, detail) => {
    const before = (await ada.client.get(address())).body;
    const { status, body } = await ada.client.put(address(), input);
    expect(status).toBe(422);
    expect(body.detail).toContain(detail);
    expect((await ada.client.get(address())).body).toEqual(before);
  });

  it('overwrites another admin whole, never in part', async () => {
    const choices = [
      { enabled: [DEMO], default: DEMO, new_models: 'disabled' },
      { enabled: ['local/small', 'local/large'], default: 'local/large', new_models: 'enabled' },
    ];
    await Promise.all([...choices, ...choices, ...choices].map(decide));
    const { enabled, default: chosen, new_models } = (await ada.client.get(address())).body;
    expect(choices).toContainEqual({ enabled, default: chosen, new_models });
  });

  it('must be one', async () => {
    expect((await member.client.put(address(), { enabled: [DEMO] })).status).toBe(403);
    expect((await member.client.get(address())).status).toBe(403);
    expect((await stranger.client.put(address(), { enabled: [DEMO] })).status).toBe(404);
    expect((await stranger.client.get(address())).status).toBe(404);
  });

  it('is noted in the audit log', async () => {
    await allowAll();
    const { body } = await ada.client.get(
      `/api/organizations/${ada.organizationId}/audit?action=model_settings_update`,
    );
    expect(body.items[0]).toMatchObject({
      action: 'model_settings_update',
      details: { default: null, new_models: 'enabled' },
    });
  });
});

describe('a model that nobody decided about', () => {
  const send = (name: string) =>
    ada.client.post('/api/agent/message', { message: 'Hello', workspace_id, model: name });

  it('can be used where new models are enabled, if it is listed', async () => {
    await decide({ enabled: [DEMO], new_models: 'enabled' });
    expect((await send('local/small')).status).toBe(422);
    expect(await send('local/brand-new')).toMatchObject({
      status: 422,
      body: {
        detail: expect.stringContaining(
          '"local/brand-new" is not listed here; an admin can enable it by name',
        ),
      },
    });
  });

  it('is refused before anything was decided, where it is not listed', async () => {
    const grace = await service.person();
    const hello = (name: string) =>
      grace.client.post('/api/agent/message', { message: 'Hello', model: name });
    expect((await hello('local/anything-goes')).status).toBe(422);
    expect((await hello('local/small')).status).toBe(200);
  });

  it('is refused where they are not, until it is named', async () => {
    await decide({ enabled: [DEMO], new_models: 'disabled' });
    expect((await send('local/brand-new')).body.detail).toContain('is not listed here');
    await decide({ enabled: [DEMO, 'local/brand-new'], new_models: 'disabled' });
    expect((await send('local/brand-new')).status).toBe(200);
    expect(await listed()).toContainEqual(expect.objectContaining({ id: 'local/brand-new', enabled: true }));
  });
});

describe('a disabled model', () => {
  const agentFile = (name: string, of: string) =>
    ada.client.put(`/api/workspaces/${workspace_id}/files/content`, {
      path: `.agents/${name}.md`,
      content: `---\nname: ${name}\nmodel: ${of}\n---\nBe brief.`,
    });

  it('is refused with the reason wherever it is named', async () => {
    await allowAll();
    const chat = (await ada.client.post('/api/agent', { workspace_id })).body.id;
    await agentFile('costly', 'local/large');
    await decide({ enabled: ['local/small'] });
    const requests: [string, string, Json][] = [
      ['post', '/api/agent/message', { message: 'Hi', workspace_id, model: 'local/large' }],
      ['post', '/api/agent/message', { message: 'Hi', workspace_id, agent_name: 'costly' }],
      ['post', '/api/agent', { workspace_id, model: 'local/large' }],
      ['post', '/api/agent', { workspace_id, agent_name: 'costly' }],
      ['patch', `/api/chats/${chat}`, { model: 'local/large' }],
    ];
    for (const [method, url, input] of requests) {
      const { status, body } = await ada.client.json(method.toUpperCase(), url, input);
      expect([url, status, body.detail]).toEqual([
        url,
        422,
        expect.stringContaining(`the model "local/large" ${NOT_ENABLED}`),
      ]);
    }
  });

  it('is refused in a chat that was made with it', async () => {
    await allowAll();
    const chat_id = (await ada.client.post('/api/agent', { workspace_id, model: 'local/large' })).body.id;
    await decide({ enabled: ['local/small'] });
    const { status, body } = await ada.client.post('/api/agent/message', { message: 'Hi', chat_id });
    expect([status, body.detail]).toEqual([422, expect.stringContaining('"local/large"')]);
    const other = await agent.run('Hi', { chat_id, model: 'local/small' });
    expect(other.status).toBe('completed');
  });

  it('gives way to the first enabled one as the default', async () => {
    await decide({ enabled: [DEMO] });
    expect(await agent.run('Hello', { workspace_id })).toMatchObject({ status: 'completed', model: DEMO });
    await decide({ enabled: [] });
    const { status, body } = await ada.client.post('/api/agent/message', { message: 'Hi', workspace_id });
    expect([status, body.detail]).toEqual([422, expect.stringContaining('none is enabled')]);
  });

  it('ends a run that waited while it was disabled with an error that says so', async () => {
    await allowAll();
    const arrived = model.received(model.requests.length + 1);
    model.reply({ hang: true });
    const first = await agent.send('Hi', { workspace_id, model: 'local/large' });
    const second = await agent.send('Hi again', { chat_id: first.chat_id, model: 'local/large' });
    await arrived;
    await decide({ enabled: [DEMO] });
    model.reply({ status: 400 });
    model.drop();
    await agent.ended(first);
    expect(await agent.ended(second)).toMatchObject({
      status: 'error',
      error: { type: 'model_unusable', message: expect.stringContaining(NOT_ENABLED) },
    });
  });
});

describe('MODEL_PRICES', () => {
  it.each([
    ['a file that is not there', '/no/such/file.json', 'MODEL_PRICES cannot be read: ENOENT'],
    ['a file that is not JSON', 'not json', 'MODEL_PRICES cannot be read: Unexpected token'],
    [
      'a price that is none',
      '{"local/small": {"price": {"input": "cheap", "output": 1}}}',
      'input of "local/small"',
    ],
    ['an unknown field', '{"local/small": {"cost": 1}}', 'unknown field "cost"'],
  ])('is refused with %s, in words', (_, given, message) => {
    const MODEL_PRICES = given.startsWith('/') ? given : priceFile(given);
    const start = () => new ModelCatalog(Config.from({ MODEL_PRICES }));
    expect(start).toThrow(InvalidSetting);
    expect(start).toThrow(message);
  });
});
