import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeAnthropic } from '../../fakes/anthropic-server.js';
import { FakeGoogle } from '../../fakes/google-server.js';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import type { ScriptedServer } from '../../fakes/scripted-server.js';
import { AgentClient, messagesOf } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { TestService } from '../../harness/service.js';

const response_schema = {
  type: 'object',
  properties: {
    day: { type: 'string', enum: ['Saturday', 'Sunday'] },
    count: { type: 'integer', minimum: 1 },
  },
  required: ['day', 'count'],
  additionalProperties: false,
};
const valid = { day: 'Saturday', count: 2 };
const model = 'local/small';

let fake: FakeOpenAi;
let claude: FakeAnthropic;
let gemini: FakeGoogle;
let service: TestService;
let agent: AgentClient;
let workspace_id: string;

beforeAll(async () => {
  [fake, claude, gemini] = await Promise.all([FakeOpenAi.start(), FakeAnthropic.start(), FakeGoogle.start()]);
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: fake.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    OPENAI_BASE_URL: fake.url,
    OPENAI_API_KEY: 'key-for-tests',
    ANTHROPIC_API_KEY: 'key-for-tests',
    ANTHROPIC_BASE_URL: claude.url,
    GOOGLE_GENERATIVE_AI_API_KEY: 'key-for-tests',
    GOOGLE_BASE_URL: gemini.url,
  });
  const ada = await service.person();
  agent = new AgentClient(ada.client);
  workspace_id = await service.workspace(ada);
});
beforeEach(() => {
  fake.requests.length = 0;
});
afterAll(async () => {
  await service.stop();
  await Promise.all([fake.stop(), claude.stop(), gemini.stop()]);
});

const lastWords = (index: number) => messagesOf(fake.requests[index] ?? { body: {} }).at(-1);
const invalids = async (run: Json) =>
  (await agent.events(run)).filter(({ event }) => event === 'response.invalid');

describe('an answer by schema', () => {
  it('is the JSON in the result, beside the text', async () => {
    fake.reply({ text: `Here it is:\n\`\`\`json\n${JSON.stringify(valid)}\n\`\`\`` });
    const run = await agent.run('Which day?', { model, response_schema });
    expect(run).toMatchObject({ status: 'completed', stop_reason: 'end_turn', result: { json: valid } });
    expect(run.result.response).toContain('Here it is');
    expect(messagesOf(fake.requests[0] ?? { body: {} })[0].content).toContain(
      JSON.stringify(response_schema),
    );
    const { body } = await agent.client.get(`/api/agent/runs/${run.call_id}`);
    expect(body.result.json).toEqual(valid);
    const last = (await agent.events(run)).at(-1);
    expect(last).toMatchObject({ event: 'run.completed', data: { json: valid } });
  });

  it('may be null, and is not there where none was asked for', async () => {
    fake.reply([{ text: 'null' }, { text: 'null' }]);
    expect(
      (await agent.run('Nothing?', { model, response_schema: { type: 'null' } })).result.json,
    ).toBeNull();
    expect((await agent.run('Nothing?', { model })).result).not.toHaveProperty('json');
  });

  it('that is wrong is corrected by the model, which is told what is wrong', async () => {
    const read = { name: 'list_files', input: {} };
    fake.reply([
      { tool: read },
      { text: '{"day":"Monday","count":0}' },
      { text: 'Sorry!' },
      { text: JSON.stringify(valid) },
    ]);
    const run = await agent.run('Which day?', { model, workspace_id, response_schema });
    expect(run).toMatchObject({
      status: 'completed',
      result: { json: valid, response: JSON.stringify(valid) },
    });
    expect(lastWords(2)).toMatchObject({
      role: 'user',
      content: expect.stringMatching(
        /\/day: must be equal to one of the allowed values: "Saturday", "Sunday".*\/count: must be >= 1/s,
      ),
    });
    expect(lastWords(3).content).toContain('not JSON');
    expect((await invalids(run)).map(({ data }) => data.step)).toEqual([2, 3]);
    fake.reply({ text: 'Fine.' });
    await agent.run('Thanks', { chat_id: run.chat_id, model });
    const roles = messagesOf(fake.requests[4] ?? { body: {} }).map(({ role }) => role);
    expect(roles).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
    ]);
  });

  it('that stays wrong ends the run as an error, with the reason', async () => {
    fake.otherwise({ text: '{"day":"Monday"}' });
    const run = await agent.run('Which day?', { model, response_schema });
    expect(run).toMatchObject({ status: 'error', error: { type: 'response_schema_failed' } });
    expect(run.error.message).toContain("must have required property 'count'");
    expect(fake.requests).toHaveLength(3);
  });

  it('that the model declines to give is not asked for again', async () => {
    fake.reply({ text: 'I cannot.', finish: 'content_filter' });
    const run = await agent.run('Which day?', { model, response_schema });
    expect(run).toMatchObject({ status: 'error', error: { type: 'response_schema_failed' } });
    expect(fake.requests).toHaveLength(1);
  });

  it('is asked for natively where the provider knows how, strictly where it knows the schema', async () => {
    fake.reply([{ text: JSON.stringify(valid) }, { text: '{}' }]);
    await agent.run('Which day?', { model: 'openai/gpt-6-luna', response_schema });
    expect(fake.requests[0]?.body.text).toMatchObject({
      format: { type: 'json_schema', strict: true, schema: response_schema },
    });
    const open = { type: 'object', properties: { day: { type: 'string' } } };
    await agent.run('Which day?', { model: 'openai/gpt-6-luna', response_schema: open });
    expect(fake.requests[1]?.body.text).toMatchObject({ format: { strict: false } });
  });

  const closed = {
    type: 'object',
    properties: { day: { type: 'string', enum: ['Saturday', 'Sunday'] } },
    required: ['day'],
    additionalProperties: false,
  };
  it.each<[string, string, () => ScriptedServer, Json]>([
    [
      "OpenAI's responses",
      'openai/gpt-6.1-sol',
      () => fake,
      { text: { format: { type: 'json_schema', name: 'response', strict: true, schema: closed } } },
    ],
    [
      "Anthropic's messages",
      'anthropic/claude-sonnet-5-5',
      () => claude,
      { output_config: { format: { type: 'json_schema', schema: closed } } },
    ],
    [
      "Google's generative language API",
      'google/gemini-2.5-pro',
      () => gemini,
      {
        generationConfig: {
          responseMimeType: 'application/json',
          responseJsonSchema: { type: 'object', required: ['day'] },
        },
      },
    ],
  ])(
    'is asked for by the means of %s, checked, and repaired once it is wrong',
    async (_, id, server, shape) => {
      server().requests.length = 0;
      server().reply([{ text: '{"day":"Monday"}' }, { text: '{"day":"Sunday"}' }]);
      const run = await agent.run('Which day?', { model: id, response_schema: closed });
      expect(run).toMatchObject({ status: 'completed', result: { json: { day: 'Sunday' } } });
      const [first, second] = server().requests.map(({ body }) => body);
      expect(first).toMatchObject(shape);
      expect(second).toMatchObject(shape);
      expect(JSON.stringify(second)).toContain('must be equal to one of the allowed values');
      expect(await invalids(run)).toHaveLength(1);
    },
  );

  it('is asked for over MCP, too', async () => {
    fake.reply({ text: JSON.stringify(valid) });
    const call = async (name: string, given: Json): Promise<Json> => {
      const { body } = await agent.client
        .with({ accept: 'application/json, text/event-stream' })
        .post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } });
      return body.result.structuredContent;
    };
    const sent = await call('send_message', { message: 'Which day?', model, response_schema });
    await agent.ended(sent);
    const status = await call('run_status', { call_id: sent.call_id });
    expect(status.result.json).toEqual(valid);
  });

  it('is asked of a subagent by the task, and given back as checked JSON', async () => {
    await agent.client.put(`/api/workspaces/${workspace_id}/files/content`, {
      path: '.agents/clerk.md',
      content: '---\ndescription: Knows days\n---\nAnswer.',
    });
    const task = (schema: Json) => ({
      name: 'task',
      input: { agent: 'clerk', prompt: 'Which day?', response_schema: schema },
    });
    fake.reply([
      { tool: task({ type: 'day' }) },
      { tool: task(response_schema) },
      { text: 'Saturday, I think.' },
      { text: `So: ${JSON.stringify(valid)}` },
      { text: 'Done.' },
    ]);
    const run = await agent.run('Ask the clerk.', { model, workspace_id });
    expect(run.result).toMatchObject({
      response: 'Done.',
      toolOutputs: [
        { is_error: true, output: expect.stringMatching(/^response_schema .*no JSON Schema/) },
        { is_error: false, output: JSON.stringify(valid) },
      ],
    });
  });

  it('of a subagent that stays wrong is an error to the run above, with the reason', async () => {
    await agent.client.put(`/api/workspaces/${workspace_id}/files/content`, {
      path: '.agents/clerk.md',
      content: '---\ndescription: Knows days\n---\nAnswer.',
    });
    fake.reply([
      { tool: { name: 'task', input: { agent: 'clerk', prompt: 'Which day?', response_schema } } },
      ...Array.from({ length: 3 }, () => ({ text: '{"day":"Sunday"}' })),
      { text: 'No answer.' },
    ]);
    const run = await agent.run('Ask the clerk.', { model, workspace_id });
    expect(run.result.toolOutputs).toEqual([
      expect.objectContaining({
        is_error: true,
        output: expect.stringContaining("must have required property 'count'"),
      }),
    ]);
  });

  it('is given by the demo model too', async () => {
    const run = await agent.run('Which day?', { model: 'atelier/demo', response_schema });
    expect(run.result.json).toEqual({ day: 'Saturday', count: 1 });
  });

  it.each([
    ['a text', 'object', /is an object/],
    ['a reference to elsewhere', { $ref: 'https://example.com/schema.json' }, /resolve reference/],
    ['a pattern that backtracks', { pattern: '(a)\\1' }, /cannot be used/],
    ['no schema', { type: 'day' }, /no JSON Schema/],
  ])('cannot be asked for with %s', async (_, schema, detail) => {
    const { status, body } = await agent.client.post('/api/agent/message', {
      message: 'go',
      response_schema: schema,
    });
    expect({ status, detail: body.detail }).toEqual({ status: 422, detail: expect.stringMatching(detail) });
    expect(body.detail).toMatch(/^response_schema /);
  });
});
