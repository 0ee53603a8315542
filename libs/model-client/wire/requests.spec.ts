import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { FakeAnthropic } from '../../../test/fakes/anthropic-server.js';
import { FakeOpenAi } from '../../../test/fakes/openai-server.js';
import type { FakeReply, ScriptedServer } from '../../../test/fakes/scripted-server.js';
import { recordStep } from '../../../test/fakes/step-recorder.js';
import { ModelError } from '../model-error.js';
import { ModelRegistry } from '../model-registry.js';
import type { ModelClient } from '../providers.js';

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

describe.each(PROTOCOLS)('$name, asked like the SDK asks', ({ start, id, settings }) => {
  let server: ScriptedServer;
  const model = (client: ModelClient) => {
    const found = new ModelRegistry({ ...settings(server.url), client }).find(id);
    if (!found) throw new Error('There is no such model.');
    return found;
  };

  beforeEach(async () => {
    server = await start();
  });
  afterEach(() => server.stop());

  it.each(CALLS)('for %s', async (_name, call) => {
    server.otherwise({ text: 'A' });
    for (const client of ['sdk', 'native'] as const) {
      const options = {
        prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
        ...call,
      } as const;
      const { stream } = await model(client).doStream(options as LanguageModelV4CallOptions);
      for await (const _part of stream) void _part;
    }
    const [theirs, ours] = server.requests.map(({ body, path, headers }) => {
      const { authorization, 'x-trace': trace } = headers;
      const known = ['x-api-key', 'anthropic-version', 'anthropic-beta', 'content-type'].map(
        name => headers[name],
      );
      return { body, path, authorization, trace, known };
    });
    expect(ours).toEqual(theirs);
    expect(ours?.body.stream).toBe(true);
  });

  it.each<[string, FakeReply]>([
    ...[300, 307, 400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529].map(
      (status): [string, FakeReply] => [`${status}`, { status }],
    ),
    ['429 that says when', { status: 429, headers: { 'retry-after': '7' } }],
    [
      '429 that says when to the millisecond',
      { status: 429, headers: { 'retry-after-ms': '70', 'retry-after': '7' } },
    ],
    ['500 that says not to', { status: 500, headers: { 'x-should-retry': 'false' } }],
    ['an error without a body', { status: 500, body: '' }],
    ['an error of a page', { status: 502, body: '<html>Bad gateway</html>' }],
    ['an error of plain text', { status: 400, body: `no ${KEY}` }],
    ['an error of few words', { status: 400, body: { error: `no ${KEY}` } }],
    ['an error with details', { status: 400, body: { detail: 'prompt is too long' } }],
    [
      'an error of Anthropic',
      { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message: 'No' } } },
    ],
    [
      'an error of OpenAI',
      {
        status: 429,
        body: { error: { message: 'Pay', type: 'insufficient_quota', code: 'insufficient_quota' } },
      },
    ],
    ['a long error', { status: 400, body: { error: { message: `${'no '.repeat(50_000)}${KEY}` } } }],
  ])('and told of %s', async (_name, reply) => {
    server.otherwise(reply);
    const [theirs, ours] = await Promise.all(
      (['sdk', 'native'] as const).map(async client => {
        const retry = { attempts: 1, baseMs: 1, maxMs: 1 };
        const error = await recordStep(model(client), { retry }).catch((thrown: unknown) => thrown);
        if (!(error instanceof ModelError)) throw error;
        const { kind, retryable, status, retryAfterMs, message } = error;
        return { kind, retryable, status, retryAfterMs, message };
      }),
    );
    expect(ours).toEqual(theirs);
    expect(ours?.status).toBe(reply.status);
    expect(ours?.message).not.toContain(KEY);
  });
});
