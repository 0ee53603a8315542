import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeAnthropic } from '../fakes/anthropic-server.js';
import {
  anthropicConversation,
  chatConversation,
  googleConversation,
  responsesConversation,
  type Said,
} from '../fakes/conversation.js';
import { FakeGoogle } from '../fakes/google-server.js';
import { FakeOpenAi } from '../fakes/openai-server.js';
import type { FakeRequest, ScriptedServer } from '../fakes/scripted-server.js';
import { AgentClient, textOf } from '../harness/agent.js';
import { TestService } from '../harness/service.js';

let openAi: FakeOpenAi;
let claude: FakeAnthropic;
let gemini: FakeGoogle;
let service: TestService;
let agent: AgentClient;
let workspace_id: string;

beforeAll(async () => {
  [openAi, claude, gemini] = await Promise.all([
    FakeOpenAi.start(),
    FakeAnthropic.start(),
    FakeGoogle.start(),
  ]);
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: openAi.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    OPENAI_API_KEY: 'key',
    OPENAI_BASE_URL: openAi.url,
    ANTHROPIC_API_KEY: 'key',
    ANTHROPIC_BASE_URL: claude.url,
    GOOGLE_GENERATIVE_AI_API_KEY: 'key',
    GOOGLE_BASE_URL: gemini.url,
  });
  const ada = await service.person();
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
  it('is asked for where it must be: after the instructions, and at the end', async () => {
    claude.reply({ text: 'ok' });
    await agent.run('Hello', { model: 'anthropic/claude-sonnet-5-5' });
    const { system, cache_control } = claude.requests.at(-1)?.body ?? {};
    expect(system).toMatchObject([{ cache_control: { type: 'ephemeral' } }]);
    expect(cache_control).toEqual({ type: 'ephemeral' });
  });

  it('is found again by the chat', async () => {
    openAi.reply([{ text: 'ok' }, { text: 'ok' }]);
    const { chat_id } = await agent.run('Hello', { model: 'openai/gpt-6.1-sol' });
    await agent.run('Hello', { model: 'openai/gpt-6.1-sol', chat_id });
    const keys = openAi.requests.slice(-2).map(({ body }) => body.prompt_cache_key);
    expect(keys).toEqual([chat_id, chat_id]);
  });
});
