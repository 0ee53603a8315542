import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseJson } from '#libs/exact-json/index.js';
import { FakeAnthropic } from '../../fakes/anthropic-server.js';
import {
  anthropicConversation,
  chatConversation,
  googleConversation,
  responsesConversation,
  type Said,
} from '../../fakes/conversation.js';
import { FakeGoogle } from '../../fakes/google-server.js';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AnthropicCache, PrefixCache } from '../../fakes/prompt-cache.js';
import type { FakeReply, FakeRequest, ScriptedServer } from '../../fakes/scripted-server.js';
import { AgentClient, textOf } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let openAi: FakeOpenAi;
let claude: FakeAnthropic;
let gemini: FakeGoogle;
let service: TestService;
let ada: Person;
let agent: AgentClient;
let workspace_id: string;

beforeAll(async () => {
  [openAi, claude, gemini] = await Promise.all([
    FakeOpenAi.start(),
    FakeAnthropic.start(),
    FakeGoogle.start(),
  ]);
  const MODEL_PRICES = path.join(mkdtempSync(path.join(tmpdir(), 'atelier-prices-')), 'prices.json');
  writeFileSync(MODEL_PRICES, JSON.stringify({ 'anthropic/narrow': { context_window: 24_000 } }));
  service = await TestService.start({
    MODEL_PRICES,
    OPENAI_COMPATIBLE_BASE_URL: openAi.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    OPENAI_API_KEY: 'key',
    OPENAI_BASE_URL: openAi.url,
    ANTHROPIC_API_KEY: 'key',
    ANTHROPIC_BASE_URL: claude.url,
    GOOGLE_GENERATIVE_AI_API_KEY: 'key',
    GOOGLE_BASE_URL: gemini.url,
  });
  rmSync(path.dirname(MODEL_PRICES), { recursive: true });
  ada = await service.person();
  agent = new AgentClient(ada.client);
  workspace_id = await service.workspace(ada);
});
afterAll(async () => {
  await service.stop();
  await Promise.all([openAi.stop(), claude.stop(), gemini.stop()]);
});

interface Protocol {
  name: string;
  model: string;
  server: () => ScriptedServer;
  conversation: (request: FakeRequest) => Said[];
  /** Its word for an answer that its policy cut off. */
  refusal: string;
  /** Whether reasoning goes back to the model in the run in which it was made. */
  signs: boolean;
}

const PROTOCOLS: Protocol[] = [
  {
    name: "OpenAI's chat completions",
    model: 'local/small',
    server: () => openAi,
    conversation: chatConversation,
    refusal: 'content_filter',
    signs: false,
  },
  {
    name: "OpenAI's responses",
    model: 'openai/gpt-6.1-sol',
    server: () => openAi,
    conversation: responsesConversation,
    refusal: 'content_filter',
    signs: true,
  },
  {
    name: "Anthropic's messages",
    model: 'anthropic/claude-sonnet-5-5',
    server: () => claude,
    conversation: anthropicConversation,
    refusal: 'refusal',
    signs: true,
  },
  {
    name: "Google's generative language API",
    model: 'google/gemini-2.5-pro',
    server: () => gemini,
    conversation: googleConversation,
    refusal: 'SAFETY',
    signs: true,
  },
];

/** The body of the request `back` before the last. */
const bodyOf = (server: ScriptedServer, back = 0): Record<string, Json> =>
  (server.requests.at(-1 - back)?.body ?? {}) as Record<string, Json>;

const write = (path: string) => ({ name: 'write_file', input: { path, content: path } });

describe.each(PROTOCOLS)('a conversation over $name', ({ model, server, conversation, refusal, signs }) => {
  beforeEach(() => {
    server().requests.length = 0;
  });
  const given = (index: number) => {
    const request = server().requests.at(index);
    if (!request) throw new Error('the model was not asked');
    return conversation(request);
  };
  const kinds = (said: Said[]) => said.map(({ kind }) => kind);
  const run = (message: string, fields = {}) => agent.run(message, { workspace_id, model, ...fields });

  /** Every call has its result after it, in the same order; by id, where there are ids. */
  function expectWholeCalls(said: Said[]): void {
    const of = (kind: Said['kind']) => said.filter(one => one.kind === kind).map(({ id }) => id);
    expect(of('result')).toEqual(of('call'));
  }

  it('takes a message in between its calls and the next answer, every call with its result', async () => {
    const long = { name: 'bash', input: { command: 'echo begun; sleep 300' } };
    server().reply([{ tools: [long, write('behind.txt')] }, { text: 'As you say.' }, { text: 'Still so.' }]);
    const sent = await agent.send('Work.', { workspace_id, model });
    await agent.until(sent, ({ event }) => event === 'tool.output');
    const steered = await agent.send('Rather not.', { chat_id: sent.chat_id, delivery: 'steer' });
    expect((await agent.ended(steered)).result.response).toBe('As you say.');
    const said = given(1);
    expect(kinds(said)).toEqual(['user', 'call', 'call', 'result', 'result', 'user']);
    expect(said.at(-1)?.text).toBe('Rather not.');
    expectWholeCalls(said);
    await run('Sure?', { chat_id: sent.chat_id });
    expect(kinds(given(2))).toEqual([...kinds(said), 'text', 'user']);
  });

  it('carries several calls at once, and their results', async () => {
    const [one, two] = [`${randomUUID()}/one.txt`, `${randomUUID()}/two.txt`];
    server().reply([{ text: 'Both.', tools: [write(one), write(two)] }, { text: 'Done.' }]);
    const { result } = await run('Write two files.');
    expect(result).toMatchObject({
      response: 'Done.',
      toolOutputs: [{ is_error: false }, { is_error: false }],
    });
    const said = given(1);
    expect(kinds(said)).toEqual(['user', 'text', 'call', 'call', 'result', 'result']);
    expect(said.filter(({ kind }) => kind === 'call')).toMatchObject([
      { text: 'write_file', input: { path: one, content: one } },
      { text: 'write_file', input: { path: two, content: two } },
    ]);
    expect(said.at(-2)?.text).toContain(one);
    expect(said.at(-1)?.text).toContain(two);
    expectWholeCalls(said);
  });

  it('gives reasoning back with its signature while the run lasts, and not later', async () => {
    server().reply([
      { reasoning: 'I should look.', signature: 'c2lnbmVk', tool: { name: 'list_files', input: {} } },
      { text: 'I looked.' },
      { text: 'Yes.' },
    ]);
    const first = await run('Look.');
    const events = await agent.events(first);
    const shown = events.filter(({ event }) => event === 'reasoning.delta').map(({ data }) => data.text);
    expect(shown.join('')).toBe('I should look.');
    if (signs) expect(given(1)).toContainEqual(expect.objectContaining({ signature: 'c2lnbmVk' }));
    expectWholeCalls(given(1));
    await run('Sure?', { chat_id: first.chat_id });
    expect(JSON.stringify(server().requests.at(2)?.body)).not.toMatch(/c2lnbmVk|I should look/);
    expect(kinds(given(2))).toEqual(['user', 'call', 'result', 'text', 'user']);
  });

  it('carries the digits of numbers', async () => {
    const input = parseJson('{"name":"file_list","input":{"workspace_id":8202522731445525542}}') as object;
    server().reply([{ tools: [{ name: 'actions_run', input }] }, { text: 'Done.' }]);
    await run('List.');
    expect(JSON.stringify(bodyOf(server())).replaceAll('\\', '')).toContain(
      '"workspace_id":8202522731445525542',
    );
  });

  it('tells a refusal', async () => {
    server().reply([{ text: 'I', finish: refusal }, { text: 'Fine.' }]);
    const refused = await run('Do harm.');
    expect(refused).toMatchObject({ status: 'completed', stop_reason: 'refusal' });
    expect((await run('Be kind.', { chat_id: refused.chat_id })).result.response).toBe('Fine.');
  });

  it('tells the model of arguments that make no sense, and goes on', async () => {
    server().reply([{ tool: { name: 'write_file', input: '{"path": "half' } }, { text: 'My mistake.' }]);
    const { status, result } = await run('Write.');
    expect({ status, response: result.response }).toEqual({ status: 'completed', response: 'My mistake.' });
    // Google's server keeps such a call to itself: the model is asked again.
    if (conversation === googleConversation) expect(kinds(given(1))).toEqual(['user']);
    else expect(given(1).at(-1)).toMatchObject({ kind: 'result', text: expect.stringContaining('JSON') });
  });

  it('tells the model of tools that are not there, and goes on', async () => {
    server().reply([{ tool: { name: 'fly', input: {} } }, { text: 'I walk.' }]);
    expect((await run('Fly.')).result.response).toBe('I walk.');
    expect(given(1).at(-1)).toMatchObject({ kind: 'result', text: expect.stringContaining('no tool fly') });
    expectWholeCalls(given(1));
  });

  it('takes an empty answer, and goes on after it', async () => {
    server().reply([{}, { text: 'Something.' }]);
    const empty = await run('Say nothing.');
    expect(empty).toMatchObject({ status: 'completed', result: { response: '' } });
    expect((await run('And now?', { chat_id: empty.chat_id })).result.response).toBe('Something.');
    expect(kinds(given(1))).toEqual(['user', 'user']);
  });

  it('leaves nothing of an answer that was cut off', async () => {
    server().reply([{ text: 'The wrong beginning of it', cutAfter: 2 }, { text: 'The right answer.' }]);
    const sent = await agent.send('Answer.', { workspace_id, model });
    expect((await agent.ended(sent)).result.response).toBe('The right answer.');
    expect(textOf(await agent.events(sent))).toBe('The right answer.');
  });

  it('is whole after a run that was stopped at work', async () => {
    const sleep = { name: 'bash', input: { command: 'echo begun; sleep 600' } };
    server().reply([{ text: 'Working.', tools: [sleep, write('never.txt')] }, { text: 'Stopped.' }]);
    const sent = await agent.send('Work.', { workspace_id, model });
    await agent.until(sent, ({ event }) => event === 'tool.output');
    await agent.client.post('/api/agent/stop', { call_id: sent.call_id });
    expect((await run('What happened?', { chat_id: sent.chat_id })).result.response).toBe('Stopped.');
    const said = given(1);
    expect(kinds(said)).toEqual(['user', 'text', 'call', 'call', 'result', 'result', 'user']);
    expectWholeCalls(said);
  });

  it('counts what was used, cached tokens among it', async () => {
    const usage = { input: 100, output: 20, cacheRead: 60, cacheWrite: 30, reasoning: 5 };
    server().reply({ text: 'ok', usage });
    const { usage: used } = await run('Count.');
    expect(used).toMatchObject({ input_tokens: 100, output_tokens: 20, cache_read_tokens: 60 });
    if (model.startsWith('anthropic/')) expect(used.cache_write_tokens).toBe(30);
  });
});

describe('the cache of a provider', () => {
  const EPHEMERAL = { type: 'ephemeral' };

  it('is asked for where it must be: after the tools, after the instructions, where the last request ended, and at the end', async () => {
    claude.reply([{ tool: { name: 'list_files', input: {} } }, { text: 'ok' }]);
    await agent.run('Hello', { workspace_id, model: 'anthropic/claude-sonnet-5-5' });
    const { tools, system, messages, cache_control } = bodyOf(claude);
    const marks = (blocks: Json[]) => blocks.map(block => block.cache_control);
    expect(cache_control).toEqual(EPHEMERAL);
    expect(system).toMatchObject([{ cache_control: EPHEMERAL }]);
    expect(marks(tools).slice(0, -1)).toEqual(
      marks(tools)
        .slice(0, -1)
        .map(() => undefined),
    );
    expect(marks(tools).at(-1)).toEqual(EPHEMERAL);
    const said = messages.map(({ content }: Json) => marks(content));
    expect(said).toEqual([[EPHEMERAL], [undefined], [undefined]]);
  });

  it('is found again by the chat', async () => {
    openAi.reply([{ text: 'ok' }, { text: 'ok' }]);
    const { chat_id } = await agent.run('Hello', { model: 'openai/gpt-6.1-sol' });
    await agent.run('Hello', { model: 'openai/gpt-6.1-sol', chat_id });
    const keys = openAi.requests.slice(-2).map(({ body }) => body.prompt_cache_key);
    expect(keys).toEqual([chat_id, chat_id]);
  });

  /** Work of six steps, the third of which asks for a dozen files at once. */
  const files = Array.from({ length: 12 }, (_, n) => `notes/${n}.md`);
  const read = (at: string) => ({ name: 'read_file', input: { path: at } });
  const WORK: FakeReply[] = [
    { tool: { name: 'list_files', input: { recursive: true } } },
    { reasoning: 'Hm.', signature: 'c2ln', tools: [read('notes/0.md'), read('notes/1.md')] },
    { tools: files.map(read) },
    { tool: { name: 'bash', input: { command: 'wc -l notes/*.md' } } },
    { tool: { name: 'search_files', input: { query: 'heron' } } },
    { text: 'Done.' },
  ];

  it.each([
    ['anthropic/claude-sonnet-5-5', () => claude, () => new AnthropicCache()],
    ['openai/gpt-6.1-sol', () => openAi, () => new PrefixCache()],
    ['local/small', () => openAi, () => new PrefixCache()],
  ] as const)(
    'has most of what is sent to %s from the third step on, and usage says so',
    async (model, server, opened) => {
      const cache = opened();
      const place = await service.workspace(ada);
      const put = (at: string, content: string) =>
        ada.client.put(`/api/workspaces/${place}/files/content`, { path: at, content });
      // A page or two of instructions, as repositories have them: our own are short beside a dozen calls.
      await put('AGENTS.md', 'Count herons at dawn.\n'.repeat(300));
      for (const at of files) await put(at, 'a heron\n'.repeat(5));
      server().clear();
      server().reply(WORK.map(reply => (request: FakeRequest) => cache.counted(request, reply)));
      const sent = await agent.send('Count the herons.', { workspace_id: place, model });
      const { status, usage } = await agent.ended(sent);
      const steps = (await agent.events(sent)).filter(({ event }) => event === 'step.finished');
      const shares = steps.map(({ data }) => data.usage.cache_read_tokens / data.usage.input_tokens);
      expect({ status, steps: steps.length }).toEqual({ status: 'completed', steps: WORK.length });
      for (const share of shares.slice(2)) expect(share).toBeGreaterThanOrEqual(0.8);
      // All that was sent before, that is, but for what some round down.
      for (const [index, { data }] of steps.entries())
        expect(data.usage.cache_read_tokens).toBeGreaterThanOrEqual(
          (steps[index - 1]?.data.usage.input_tokens ?? 0) - 200,
        );
      const read = steps.reduce((sum, { data }) => sum + data.usage.cache_read_tokens, 0);
      expect(usage.cache_read_tokens).toBe(read);
      expect(read).toBeGreaterThan(0);
    },
  );

  it('serves the next message of a chat, and other chats of the workspace', async () => {
    const cache = new AnthropicCache();
    const model = 'anthropic/claude-sonnet-5-5';
    claude.otherwise(request => cache.counted(request, { text: 'ok' }));
    const usages = [];
    const first = await agent.run('Hello', { workspace_id, model });
    for (const fields of [{ chat_id: first.chat_id }, { workspace_id }])
      usages.push((await agent.run('Hello', { ...fields, model })).usage);
    for (const { cache_read_tokens, input_tokens } of usages)
      expect(cache_read_tokens / input_tokens).toBeGreaterThanOrEqual(0.8);
    claude.otherwise({ text: 'ok' });
  });
});

describe('reasoning in the steps of a run', () => {
  const look = { name: 'list_files', input: {} };

  it('is asked of OpenAI in a form that can be given back, as it keeps nothing', async () => {
    openAi.reply([{ reasoning: 'Hm.', signature: 'sealed', tool: look }, { text: 'ok' }]);
    await agent.run('Look.', { workspace_id, model: 'openai/gpt-6.1-sol' });
    const [first, second] = [bodyOf(openAi, 1), bodyOf(openAi)];
    expect(first).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] });
    expect(second.input).toContainEqual(
      expect.objectContaining({ type: 'reasoning', encrypted_content: 'sealed' }),
    );
  });

  it('goes back to compatible servers as reasoning_content, while the run lasts', async () => {
    openAi.reply([{ reasoning: 'I should look.', tool: look }, { text: 'ok' }, { text: 'Yes.' }]);
    const { chat_id } = await agent.run('Look.', { workspace_id, model: 'local/small' });
    const messages = bodyOf(openAi).messages;
    expect(messages.find(({ role }: Json) => role === 'assistant')).toMatchObject({
      reasoning_content: 'I should look.',
      tool_calls: [expect.objectContaining({ type: 'function' })],
    });
    await agent.run('Sure?', { chat_id, model: 'local/small' });
    expect(JSON.stringify(openAi.requests.at(-1)?.body)).not.toContain('reasoning_content');
  });

  it('goes back to Anthropic before the calls that it led to', async () => {
    claude.reply([{ reasoning: 'Hm.', signature: 'c2ln', tools: [look, look] }, { text: 'ok' }]);
    await agent.run('Look.', { workspace_id, model: 'anthropic/claude-sonnet-5-5' });
    const messages = bodyOf(claude).messages;
    expect(messages[1].content.map(({ type }: Json) => type)).toEqual(['thinking', 'tool_use', 'tool_use']);
    expect(messages[1].content[0]).toMatchObject({ thinking: 'Hm.', signature: 'c2ln' });
    expect(messages[2].content.map(({ type }: Json) => type)).toEqual(['tool_result', 'tool_result']);
  });

  it('goes back to Google on the first of the calls that it led to', async () => {
    gemini.reply([{ reasoning: 'Hm.', signature: 'c2ln', tools: [look, look] }, { text: 'ok' }]);
    await agent.run('Look.', { workspace_id, model: 'google/gemini-3.1-pro-preview' });
    const calls = bodyOf(gemini)
      .contents.flatMap(({ parts }: Json) => parts)
      .filter(({ functionCall }: Json) => functionCall);
    expect(calls.map(({ thoughtSignature }: Json) => thoughtSignature)).toEqual(['c2ln', undefined]);
  });
});

describe('a prompt that may be too long', () => {
  const model = 'anthropic/narrow';
  const long = 'A long story. '.repeat(4_000);
  const counts = () => claude.requests.filter(({ path: at }) => at.endsWith('/count_tokens'));
  const asked = () => claude.requests.filter(({ path: at }) => at === '/v1/messages');

  beforeEach(() => {
    claude.requests.length = 0;
    claude.clear();
    claude.otherwise({ text: 'ok' });
  });
  afterEach(() => {
    claude.tokens = undefined;
  });

  it('is counted by its provider first, and not made shorter where it fits', async () => {
    claude.tokens = 12_000;
    const { chat_id } = await agent.run(long, { model });
    const second = await agent.send('And?', { chat_id, model });
    expect((await agent.ended(second)).status).toBe('completed');
    expect(counts().map(({ body }) => Object.keys(body).toSorted())).toEqual([
      ['messages', 'model', 'system'],
      ['messages', 'model', 'system'],
    ]);
    expect(counts()[1]?.headers).toMatchObject({ 'x-api-key': 'key', 'anthropic-version': '2023-06-01' });
    expect(asked().map(({ body }) => (body.messages as Json[]).length)).toEqual([1, 3]);
    const events = (await agent.events(second)).map(({ event }) => event);
    expect(events).not.toContain('context.compacting');
  });

  it('is made shorter by an estimate where its provider cannot count', async () => {
    const { chat_id } = await agent.run(long, { model });
    const second = await agent.send('And?', { chat_id, model });
    expect((await agent.ended(second)).status).toBe('completed');
    expect(counts().length).toBeGreaterThan(0);
    expect((await agent.events(second)).map(({ event }) => event)).toContain('context.compacting');
  });

  it('is not counted where it is short', async () => {
    claude.tokens = 12_000;
    await agent.run('Hello', { model });
    expect(counts()).toEqual([]);
  });
});
