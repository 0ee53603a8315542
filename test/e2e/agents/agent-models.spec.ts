import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient, messagesOf, textOf } from '../../harness/agent.js';
import { TestService } from '../../harness/service.js';

let model: FakeOpenAi;
let service: TestService;
let agent: AgentClient;
let workspace_id: string;

beforeAll(async () => {
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    OPENAI_COMPATIBLE_API_KEY: 'very-secret',
    SANDBOX_DRIVER: 'bubblewrap',
  });
  const ada = await service.person();
  agent = new AgentClient(ada.client);
  workspace_id = await service.workspace(ada);
});
afterAll(async () => {
  await service.stop();
  await model.stop();
});

describe('a provider', () => {
  it.each([
    ['refuses the key', 401, 'model_auth'],
    ['does not know the model', 404, 'model_not_found'],
    ['finds the request wrong', 400, 'model_bad_request'],
  ])('that %s ends the run at once, with the reason and without the key', async (_, status, type) => {
    const from = model.requests.length;
    model.reply({ status });
    const run = await agent.run('go');
    expect(run).toMatchObject({ status: 'error', state: 'done', stop_reason: 'error', error: { type } });
    expect(run).not.toHaveProperty('result');
    expect(JSON.stringify(run)).not.toContain('very-secret');
    expect(model.requests.length).toBe(from + 1);
  });

  it('that is busy is asked again when it said so', async () => {
    model.reply([{ status: 429, headers: { 'retry-after': '1' } }, { text: 'Now.' }]);
    const sent = await agent.send('go');
    const events = await agent.events(sent);
    const restarted = events.find(({ event }) => event === 'step.restarted');
    expect(restarted?.data).toMatchObject({ step: 1, attempt: 1 });
    expect(restarted?.data.delay_ms).toBeGreaterThanOrEqual(1000);
    expect((await agent.ended(sent)).result.response).toBe('Now.');
  });

  it('that cuts its answer off leaves nothing of it', async () => {
    model.reply([{ text: 'This is the wrong beginning of', hangAfter: 4 }, { text: 'The right answer.' }]);
    const sent = await agent.send('go');
    await agent.until(sent, ({ event }) => event === 'text.delta');
    model.drop();
    const events = await agent.events(sent);
    const kinds = events.map(({ event }) => event);
    expect(kinds.indexOf('step.restarted')).toBeGreaterThan(kinds.indexOf('text.delta'));
    expect(textOf(events)).toBe('The right answer.');
    expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
    const { result } = await agent.ended(sent);
    expect(result.response).toBe('The right answer.');
    const from = model.requests.length;
    model.reply({ text: 'Yes.' });
    await agent.run('sure?', { chat_id: sent.chat_id });
    expect(JSON.stringify(messagesOf(model.requests[from] ?? { body: {} }))).not.toContain('wrong beginning');
  });

  it('that cuts off its call of a tool has it run once', async () => {
    const tool = { name: 'bash', input: { command: 'echo once >> once.txt; wc -l < once.txt' } };
    model.reply([{ text: 'I try', tool, cutAfter: 3 }, { tool }, { text: 'Done.' }]);
    const { result } = await agent.run('go', { workspace_id });
    expect(result.toolOutputs).toMatchObject([{ output: '1' }]);
  });

  it('that fails for ever ends the run after some attempts', async () => {
    const from = model.requests.length;
    model.reply(Array.from({ length: 5 }, () => ({ status: 500 })));
    const run = await agent.run('go');
    expect(run).toMatchObject({ status: 'error', error: { type: 'model_overloaded' } });
    expect(model.requests.length).toBe(from + 5);
  });

  it('that says nothing gives an empty answer', async () => {
    model.reply([{}, { text: 'Something.' }]);
    const run = await agent.run('go');
    expect(run).toMatchObject({ status: 'completed', result: { response: '', toolOutputs: [] } });
    expect((await agent.run('again', { chat_id: run.chat_id })).result.response).toBe('Something.');
  });

  it.each([
    ['length', 'length'],
    ['content_filter', 'refusal'],
  ])('that stops for %s says so', async (finish, stop_reason) => {
    model.reply({ text: 'Once upon a', finish });
    expect(await agent.run('go')).toMatchObject({ status: 'completed', stop_reason });
  });

  it('is told of all tokens that were used', async () => {
    const usage = { input: 100, output: 20, cacheRead: 60, reasoning: 5 };
    model.reply([
      { tool: { name: 'list_files', input: {} }, usage },
      { text: 'Done.', usage },
    ]);
    const run = await agent.run('go', { workspace_id });
    expect(run.usage).toMatchObject({
      input_tokens: 200,
      output_tokens: 40,
      cache_read_tokens: 120,
      reasoning_tokens: 10,
    });
    expect(run.cost_usd).toBeNull();
  });
});

it('asks a provider that falls silent again', async () => {
  const impatient = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    MODEL_TIMEOUT_SECONDS: '2',
  });
  try {
    const asking = new AgentClient((await impatient.person()).client);
    model.reply([{ hang: true }, { text: 'Half', hangAfter: 1 }]).otherwise({ text: 'Awake.' });
    const events = await asking.events(await asking.send('go'));
    const restarts = events.filter(({ event }) => event === 'step.restarted');
    // On a slow machine, also the answer may take longer than this service waits.
    expect(restarts.length).toBeGreaterThanOrEqual(2);
    expect(textOf(events)).toBe('Awake.');
  } finally {
    await impatient.stop();
  }
});

it('goes on without a sandbox, telling the model why', async () => {
  const bare = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    SANDBOX_DRIVER: 'unsafe-local',
  });
  try {
    const ada = await bare.person();
    const { SandboxesService } = await import('../../../src/workspaces/sandboxes/sandboxes.service.js');
    const sandboxes = bare.app.get(SandboxesService, { strict: false });
    Object.assign(sandboxes, {
      driver: {
        name: 'none',
        isolated: true,
        check: async () => ({ ok: false, reason: 'bwrap is not installed' }),
      },
    });
    model.reply([{ tool: { name: 'bash', input: { command: 'true' } } }, { text: 'I cannot.' }]);
    const run = await new AgentClient(ada.client).run('go', { workspace_id: await bare.workspace(ada) });
    expect(run.result).toMatchObject({
      response: 'I cannot.',
      toolOutputs: [{ is_error: true, output: 'Code cannot run here: bwrap is not installed' }],
    });
  } finally {
    await bare.stop();
  }
});
