import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { FakeAnthropic } from '../../test/fakes/anthropic-server.js';
import { FakeOpenAi } from '../../test/fakes/openai-server.js';
import type { FakeReply, ScriptedServer } from '../../test/fakes/scripted-server.js';
import { recordStep } from '../../test/fakes/step-recorder.js';
import { ModelError } from './model-error.js';
import { ModelRegistry } from './model-registry.js';

const KEY = 'plain-secret-0123456789';
const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

const PROMPT: LanguageModelV4Prompt = [
  {
    role: 'system',
    content: 'Be kind.',
    providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
  },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is this?' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: PNG } },
      {
        type: 'file',
        mediaType: 'application/pdf',
        filename: 'a.pdf',
        data: { type: 'data', data: Buffer.from('%PDF-') },
      },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Hm', providerOptions: { anthropic: { signature: 'sig' } } },
      { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: 'xyz' } } },
      { type: 'text', text: 'Let me look. ' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'read', input: { path: 'x' } },
      {
        type: 'tool-call',
        toolCallId: 'b',
        toolName: 'read',
        input: {},
        providerOptions: { local: { thoughtSignature: 's' } },
      },
    ],
  },
  {
    role: 'tool',
    content: [
      { type: 'tool-result', toolCallId: 'a', toolName: 'read', output: { type: 'text', value: 'ok' } },
      { type: 'tool-result', toolCallId: 'b', toolName: 'read', output: { type: 'error-text', value: 'no' } },
    ],
  },
  { role: 'user', content: [{ type: 'text', text: 'Go on' }] },
];

const SCHEMA = {
  type: 'object',
  properties: { sum: { type: 'number' } },
  required: ['sum'],
  additionalProperties: false,
} as const;
const TOOLS: LanguageModelV4CallOptions['tools'] = [
  {
    type: 'function',
    name: 'read',
    description: 'Reads.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
  },
  { type: 'function', name: 'list', inputSchema: { type: 'object' }, strict: true },
];

const CALLS: [string, Partial<LanguageModelV4CallOptions>][] = [
  ['a whole conversation', { prompt: PROMPT, tools: TOOLS }],
  [
    'limits and taste',
    { maxOutputTokens: 7, temperature: 0.3, topP: 0.9, stopSequences: ['x'], reasoning: 'low' },
  ],
  ['a choice of tools', { tools: TOOLS, toolChoice: { type: 'tool', toolName: 'read' } }],
  ['a need of tools', { tools: TOOLS, toolChoice: { type: 'required' } }],
  ['an answer of JSON', { responseFormat: { type: 'json', schema: SCHEMA, name: 'response' }, tools: TOOLS }],
  ['headers', { headers: { 'x-trace': '1', 'anthropic-beta': 'one, Two' } }],
  [
    'options of providers',
    {
      providerOptions: {
        anthropic: { cacheControl: { type: 'ephemeral' }, thinking: { type: 'enabled', budgetTokens: 2000 } },
        local: { reasoningEffort: 'high', extra: { a: 1 } },
      },
    },
  ],
];

const PROTOCOLS = [
  {
    name: 'chat completions',
    start: () => FakeOpenAi.start(),
    id: 'local/small',
    settings: (baseUrl: string) => ({ compatible: [{ name: 'local', baseUrl, apiKey: KEY, models: [] }] }),
  },
  ...['claude-sonnet-4-5', 'claude-3-haiku-20240307', 'own'].map(name => ({
    name: `messages to ${name}`,
    start: () => FakeAnthropic.start(),
    id: `anthropic/${name}`,
    settings: (baseUrl: string) => ({ anthropic: { apiKey: KEY, baseUrl } }),
  })),
];

describe.each(PROTOCOLS)('$name', ({ start, id, settings }) => {
  let server: ScriptedServer;
  const model = () => {
    const found = new ModelRegistry(settings(server.url)).find(id);
    if (!found) throw new Error('There is no such model.');
    return found;
  };

  beforeEach(async () => {
    server = await start();
  });
  afterEach(() => server.stop());

  it.each(CALLS)('is asked for %s', async (_name, call) => {
    server.otherwise({ text: 'A' });
    const options = {
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
      ...call,
    } as const;
    const { stream } = await model().doStream(options as LanguageModelV4CallOptions);
    for await (const _part of stream) void _part;
    const [request] = server.requests;
    const { authorization, 'x-api-key': key } = request?.headers ?? {};
    expect([authorization, key]).toContain(key === undefined ? `Bearer ${KEY}` : KEY);
    expect(request?.body.stream).toBe(true);
    const sent = JSON.stringify(request?.body);
    if (call.prompt)
      for (const part of ['Be kind.', PNG.toString('base64'), 'Let me look. ', 'ok', 'Go on'])
        expect(sent).toContain(part);
    for (const tool of call.tools ?? []) expect(sent).toContain(`"${tool.name}"`);
  });

  it.each<[string, FakeReply, string, boolean]>([
    ['400', { status: 400 }, 'bad_request', false],
    ['401', { status: 401 }, 'auth', false],
    ['402', { status: 402 }, 'rate_limited', false],
    ['403', { status: 403 }, 'auth', false],
    ['404', { status: 404 }, 'not_found', false],
    ['408', { status: 408 }, 'timeout', true],
    ['413', { status: 413 }, 'context_length', false],
    ['429', { status: 429 }, 'rate_limited', true],
    ['500', { status: 500 }, 'overloaded', true],
    ['503', { status: 503 }, 'overloaded', true],
    ['504', { status: 504 }, 'timeout', true],
    ['529', { status: 529 }, 'overloaded', true],
    ['a redirect', { status: 307 }, 'bad_request', false],
    ['500 that says not to', { status: 500, headers: { 'x-should-retry': 'false' } }, 'overloaded', false],
    ['an error without a body', { status: 500, body: '' }, 'overloaded', true],
    ['an error of a page', { status: 502, body: '<html>Bad gateway</html>' }, 'overloaded', true],
    ['an error of plain text', { status: 400, body: `no ${KEY}` }, 'bad_request', false],
    ['an error of few words', { status: 400, body: { error: `no ${KEY}` } }, 'bad_request', false],
    [
      'an error with details',
      { status: 400, body: { detail: 'prompt is too long' } },
      'context_length',
      false,
    ],
    [
      'a long error',
      { status: 400, body: { error: { message: `${'no '.repeat(50_000)}${KEY}` } } },
      'bad_request',
      false,
    ],
  ])('tells of %s', async (_name, reply, kind, retryable) => {
    server.otherwise(reply);
    const retry = { attempts: 1, baseMs: 1, maxMs: 1 };
    const error = await recordStep(model(), { retry }).catch((thrown: unknown) => thrown);
    if (!(error instanceof ModelError)) throw error;
    expect(error).toMatchObject({ kind, retryable, status: reply.status });
    expect(error.message).not.toContain(KEY);
  });

  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after-ms': '70', 'retry-after': '7' }, 70],
  ])('tells when to ask again: %j', async (headers, retryAfterMs) => {
    server.otherwise({ status: 429, headers });
    const retry = { attempts: 1, baseMs: 1, maxMs: 1 };
    await expect(recordStep(model(), { retry })).rejects.toMatchObject({ retryAfterMs });
  });
});
