import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { FakeAnthropic } from '../../test/fakes/anthropic-server.js';
import { FakeOpenAi } from '../../test/fakes/openai-server.js';
import type { ScriptedServer } from '../../test/fakes/scripted-server.js';
import { recordStep, userPrompt } from '../../test/fakes/step-recorder.js';
import { ModelRegistry } from './model-registry.js';
import type { ProviderSettings } from './providers.js';

const TOOLS: LanguageModelV4FunctionTool[] = ['read_file', 'write_file'].map(name => ({
  type: 'function',
  name,
  description: name,
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
}));

interface Protocol {
  name: string;
  start: () => Promise<ScriptedServer>;
  settings: (url: string) => ProviderSettings;
  id: string;
  path: string;
}

const PROTOCOLS: Protocol[] = [
  {
    name: 'chat completions',
    start: () => FakeOpenAi.start(),
    settings: baseUrl => ({ compatible: [{ name: 'local', baseUrl, models: ['small'] }] }),
    id: 'local/small',
    path: '/v1/chat/completions',
  },
  {
    name: 'responses',
    start: () => FakeOpenAi.start(),
    settings: baseUrl => ({ openai: { apiKey: 'sk-secret-openai', baseUrl } }),
    id: 'openai/gpt-6-luna',
    path: '/v1/responses',
  },
  {
    name: 'messages',
    start: () => FakeAnthropic.start(),
    settings: baseUrl => ({ anthropic: { apiKey: 'sk-secret-anthropic', baseUrl } }),
    id: 'anthropic/claude-sonnet-5-5',
    path: '/v1/messages',
  },
];

describe.each(PROTOCOLS)('a step over $name', ({ start, settings, id, path }) => {
  let server: ScriptedServer;
  const model = () => new ModelRegistry(settings(server.url)).find(id);

  beforeEach(async () => {
    server = await start();
  });
  afterEach(() => server.stop());

  it('streams text and reports usage and the model that answered', async () => {
    server.reply({
      text: 'Good morning to you',
      usage: { input: 100, output: 4, cacheRead: 60, reasoning: 0 },
    });
    const { result, deltas, restarts } = await recordStep(model());
    expect(result).toMatchObject({
      text: 'Good morning to you',
      finish_reason: 'stop',
      tool_calls: [],
      model_used: id.split('/')[1],
      usage: { input_tokens: 100, output_tokens: 4, cache_read_tokens: 60 },
    });
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.map(delta => delta.text).join('')).toBe('Good morning to you');
    expect(restarts).toEqual([]);
    expect(server.requests.map(request => request.path)).toEqual([path]);
  });

  it('returns parallel tool calls in order', async () => {
    server.reply({
      text: 'Both, then.',
      tools: [
        { name: 'read_file', input: { path: 'a.txt' }, id: 'one' },
        { name: 'write_file', input: { path: 'ü.txt', content: 'x\n"y"' }, id: 'two' },
      ],
    });
    const { result } = await recordStep(model(), { tools: TOOLS });
    expect(result.tool_calls).toEqual([
      { id: 'one', tool: 'read_file', input: { path: 'a.txt' } },
      { id: 'two', tool: 'write_file', input: { path: 'ü.txt', content: 'x\n"y"' } },
    ]);
    expect(result.finish_reason).toBe('tool-calls');
    expect(result.content.map(part => part.type)).toEqual(['text', 'tool-call', 'tool-call']);
    expect(JSON.parse(JSON.stringify(result))).toEqual(result);
  });

  it('reports malformed tool arguments and keeps the conversation usable', async () => {
    server.reply([
      {
        tools: [
          { name: 'read_file', input: '{"path": "a', id: 'one' },
          { name: 'read_file', input: '[1]', id: 'two' },
          { name: 'read_file', input: `${'{"a":'.repeat(101)}"]"${'}'.repeat(101)}`, id: 'three' },
        ],
      },
      { text: 'Sorry.' },
    ]);
    const { result } = await recordStep(model(), { tools: TOOLS });
    expect(result.tool_calls).toMatchObject([
      { id: 'one', input: '{"path": "a', invalid: expect.stringContaining('not valid JSON') },
      { id: 'two', input: [1], invalid: expect.stringContaining('must be a JSON object') },
      { id: 'three', invalid: expect.stringContaining('nested more than 100 deep') },
    ]);
    const next = await recordStep(model(), {
      tools: TOOLS,
      prompt: answered(result.content, ['one', 'two', 'three']),
    });
    expect(next.result.text).toBe('Sorry.');
  });

  it('takes missing tool arguments for an empty object', async () => {
    server.reply({ tool: { name: 'read_file', input: '' } });
    const { result } = await recordStep(model(), { tools: TOOLS });
    expect(result.tool_calls).toMatchObject([{ tool: 'read_file', input: {} }]);
    expect(result.tool_calls[0]).not.toHaveProperty('invalid');
  });

  it('accepts an empty answer', async () => {
    server.reply({});
    const { result, deltas } = await recordStep(model());
    expect(result).toMatchObject({ content: [], text: '', finish_reason: 'stop' });
    expect(deltas).toEqual([]);
  });

  it('calls a finish reason that it does not know "other"', async () => {
    server.reply({ text: 'Hm', finish: 'full_moon' });
    const { result } = await recordStep(model());
    expect(result).toMatchObject({ text: 'Hm', finish_reason: 'other' });
  });

  it('streams reasoning apart from the text', async () => {
    server.reply({ reasoning: 'Let me think', text: 'Done', signature: 'c2ln' });
    const { result, deltas } = await recordStep(model());
    const seen = (type: string) => deltas.flatMap(delta => (delta.type === type ? delta.text : [])).join('');
    expect(seen('reasoning')).toBe('Let me think');
    expect(seen('text')).toBe('Done');
    expect(result.text).toBe('Done');
    expect(result.content.map(part => part.type)).toEqual(['reasoning', 'text']);
  });

  it('sends no tools when there are none', async () => {
    server.reply({ text: 'x' });
    await recordStep(model());
    expect(server.requests[0]?.body).not.toHaveProperty('tools');
  });
});

describe('what a provider needs back in the next turn', () => {
  it('returns thinking blocks with their signature to Anthropic', async () => {
    const server = await FakeAnthropic.start();
    server.reply([
      {
        reasoning: 'First the file',
        signature: 'c2lnbmVk',
        tool: { name: 'read_file', input: { path: 'a' }, id: 'one' },
      },
      { text: 'Read.' },
    ]);
    const registry = new ModelRegistry({ anthropic: { apiKey: 'sk-ant', baseUrl: server.url } });
    const model = registry.find('anthropic/claude-sonnet-5-5');
    const { result } = await recordStep(model, { tools: TOOLS });
    await recordStep(model, { tools: TOOLS, prompt: answered(stored(result.content), ['one']) });
    expect(server.requests[1]?.body).toMatchObject({
      cache_control: { type: 'ephemeral' },
      messages: [
        { role: 'user' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'First the file', signature: 'c2lnbmVk' },
            { type: 'tool_use', id: 'one', name: 'read_file', input: { path: 'a' } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'one' }] },
      ],
    });
    await server.stop();
  });

  it('returns encrypted reasoning to OpenAI, which is told to store nothing', async () => {
    const server = await FakeOpenAi.start();
    server.reply([
      {
        reasoning: 'First the file',
        signature: 'ZW5j',
        tool: { name: 'read_file', input: { path: 'a' }, id: 'one' },
      },
      { text: 'Read.' },
    ]);
    const model = new ModelRegistry({ openai: { apiKey: 'sk-1', baseUrl: server.url } }).find(
      'openai/gpt-6.1-sol',
    );
    const { result } = await recordStep(model, { tools: TOOLS });
    await recordStep(model, { tools: TOOLS, prompt: answered(stored(result.content), ['one']) });
    expect(server.requests[1]?.body).toMatchObject({
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [
        { role: 'user' },
        { type: 'reasoning', encrypted_content: 'ZW5j', summary: [{ text: 'First the file' }] },
        { type: 'function_call', call_id: 'one', name: 'read_file', arguments: '{"path":"a"}' },
        { type: 'function_call_output', call_id: 'one' },
      ],
    });
    await server.stop();
  });

  it('lets the caller override the defaults it sets for providers', async () => {
    const server = await FakeOpenAi.start();
    server.reply({ text: 'x' });
    const model = new ModelRegistry({ openai: { apiKey: 'sk-1', baseUrl: server.url } }).find(
      'openai/gpt-6.1-sol',
    );
    await recordStep(model, { providerOptions: { openai: { store: true } } });
    expect(server.requests[0]?.body).toMatchObject({ store: true });
    await server.stop();
  });
});

type AssistantContent = Extract<LanguageModelV4Prompt[number], { role: 'assistant' }>['content'];

/** The conversation after the tools have answered. */
function answered(content: AssistantContent, ids: string[]): LanguageModelV4Prompt {
  return [
    ...userPrompt('Hello'),
    { role: 'assistant', content },
    {
      role: 'tool',
      content: ids.map(toolCallId => ({
        type: 'tool-result',
        toolCallId,
        toolName: 'read_file',
        output: { type: 'text', value: 'contents' },
      })),
    },
  ];
}

/** As it comes back from a database. */
function stored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
