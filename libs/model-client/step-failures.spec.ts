import { FakeAnthropic } from '../../test/fakes/anthropic-server.js';
import { FakeOpenAi } from '../../test/fakes/openai-server.js';
import type { FakeReply, ScriptedServer } from '../../test/fakes/scripted-server.js';
import { PATIENT, QUICK_RETRY, recordStep } from '../../test/fakes/step-recorder.js';
import { ModelError } from './model-error.js';
import { ModelRegistry } from './model-registry.js';

const KEY = 'plain-secret-0123456789';

const PROTOCOLS = [
  {
    name: 'chat completions',
    start: () => FakeOpenAi.start(),
    find: (baseUrl: string) =>
      new ModelRegistry({ compatible: [{ name: 'local', baseUrl, apiKey: KEY, models: [] }] }).find(
        'local/m',
      ),
  },
  {
    name: 'responses',
    start: () => FakeOpenAi.start(),
    find: (baseUrl: string) => new ModelRegistry({ openai: { apiKey: KEY, baseUrl } }).find('openai/m'),
  },
  {
    name: 'messages',
    start: () => FakeAnthropic.start(),
    find: (baseUrl: string) => new ModelRegistry({ anthropic: { apiKey: KEY, baseUrl } }).find('anthropic/m'),
  },
];

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => unhandled.push(reason);

beforeAll(() => process.on('unhandledRejection', onUnhandled));
afterAll(() => {
  process.off('unhandledRejection', onUnhandled);
  expect(unhandled).toEqual([]);
});

describe('the base URL of a provider', () => {
  it.each([
    ['anthropic', '', '/v1/messages'],
    ['anthropic', '/', '/v1/messages'],
    ['anthropic', '/v1', '/v1/messages'],
    ['anthropic', '/v1/', '/v1/messages'],
    ['anthropic', '/proxy', '/proxy/v1/messages'],
    ['openai', '/v1', '/v1/responses'],
    ['openai', '/proxy', '/proxy/responses'],
    ['google', '', '/v1beta/models/m:streamGenerateContent?alt=sse'],
    ['google', '/v1beta', '/v1beta/models/m:streamGenerateContent?alt=sse'],
    ['google', '/v1', '/v1/models/m:streamGenerateContent?alt=sse'],
  ])('of %s may be the host with %j, as its own tools take it', async (provider, path, asked) => {
    const server = await FakeOpenAi.start();
    server.reply({ status: 400 });
    const baseUrl = new URL(server.url).origin + path;
    const model = new ModelRegistry({ [provider]: { apiKey: KEY, baseUrl } }).find(`${provider}/m`);
    await expect(recordStep(model)).rejects.toBeInstanceOf(ModelError);
    expect(server.requests.map(request => request.path)).toEqual([asked]);
    await server.stop();
  });
});

describe.each(PROTOCOLS)('a failing step over $name', ({ start, find }) => {
  let server: ScriptedServer;
  const model = () => find(server.url);
  const failure = (...request: Parameters<typeof recordStep>): Promise<ModelError> =>
    recordStep(...request).then(
      () => Promise.reject(new Error('The step was expected to fail.')),
      error => error,
    );

  beforeEach(async () => {
    server = await start();
  });
  afterEach(() => server.stop());

  it.each<[string, FakeReply, Partial<ModelError>]>([
    ['401', { status: 401, body: { error: { message: `Bad key ${KEY}` } } }, { kind: 'auth', status: 401 }],
    ['403', { status: 403 }, { kind: 'auth', status: 403 }],
    ['404', { status: 404 }, { kind: 'not_found', status: 404 }],
    ['400', { status: 400, body: { error: { message: `No ${KEY}` } } }, { kind: 'bad_request', status: 400 }],
    [
      'a context that is too long',
      { status: 400, body: { error: { message: 'prompt is too long: 9 tokens > 8 maximum', type: 'x' } } },
      { kind: 'context_length', status: 400 },
    ],
    [
      'an empty account',
      {
        status: 429,
        body: { error: { message: 'Pay first', code: 'insufficient_quota', type: 'insufficient_quota' } },
      },
      { kind: 'rate_limited', status: 429 },
    ],
    [
      'a redirect',
      { status: 307, headers: { location: 'http://127.0.0.1:1/' } },
      { kind: 'bad_request', status: 307 },
    ],
  ])('does not try %s again', async (_name, reply, expected) => {
    server.reply([reply, { text: 'never' }]);
    const error = await failure(model());
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ ...expected, retryable: false });
    expect(error.message).not.toContain(KEY);
    expect(server.requests).toHaveLength(1);
  });

  it('waits as long as Retry-After says, then succeeds', async () => {
    server.reply([
      { status: 429, headers: { 'retry-after-ms': '40' } },
      { status: 429, headers: { 'retry-after': '1' } },
      { text: 'At last' },
    ]);
    const { result, restarts } = await recordStep(model());
    expect(result.text).toBe('At last');
    expect(restarts).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
    expect(restarts[0]?.delay_ms).toBeGreaterThanOrEqual(40);
    expect(restarts[1]?.delay_ms).toBeGreaterThanOrEqual(1000);
  });

  it('gives up when the attempts are used up', async () => {
    server.reply([{ status: 500 }, { status: 503 }, { status: 529 }, { text: 'too late' }]);
    const error = await failure(model());
    expect(error).toMatchObject({ kind: 'overloaded', status: 529, retryable: true });
    expect(server.requests).toHaveLength(QUICK_RETRY.attempts);
  });

  it('heeds a server that says a retry is of no use', async () => {
    server.reply({ status: 500, headers: { 'x-should-retry': 'false' } });
    expect(await failure(model())).toMatchObject({ kind: 'overloaded', retryable: false });
    expect(server.requests).toHaveLength(1);
  });

  it('times out when no answer begins', async () => {
    server.reply({ hang: true });
    const timeouts = { ...PATIENT, firstByteMs: 1_000 };
    const error = await failure(model(), { timeouts, retry: { ...QUICK_RETRY, attempts: 1 } });
    expect(error).toMatchObject({ kind: 'timeout', retryable: true });
    await server.hungUp(1);
  });

  it('times out when an answer stops, and starts again', async () => {
    server.reply([{ text: 'one two three', hangAfter: 2 }, { text: 'one two three' }]);
    const { result, restarts } = await recordStep(model(), { timeouts: { ...PATIENT, idleMs: 5_000 } });
    expect(result.text).toBe('one two three');
    expect(restarts).toMatchObject([{ attempt: 1, message: expect.stringContaining('5 seconds') }]);
    await server.hungUp(1);
  });

  it('starts a stream that was cut in the middle again, and says that the deltas are void', async () => {
    server.reply([{ text: 'one two three', hangAfter: 2 }, { text: 'uno dos tres' }]);
    const seen: string[] = [];
    const { result, deltas } = await recordStep(model(), {
      onDelta: ({ text }) => {
        seen.push(text);
        if (seen.length === 2) server.drop();
      },
      onRestart: () => seen.push('|'),
    });
    expect(seen.join('')).toBe('one two|uno dos tres');
    expect(deltas.map(delta => delta.text).join('')).toBe('uno dos tres');
    expect(result.content).toMatchObject([{ type: 'text', text: 'uno dos tres' }]);
  });

  it.each<[string, FakeReply]>([
    ['breaks off', { text: 'one two', cutAfter: 1 }],
    ['breaks off before it begins', { text: 'one two', cutAfter: 0 }],
    ['ends without a finish', { text: 'one two', endAfter: 1 }],
    ['is empty', { text: 'one two', endAfter: 0 }],
    ['reports an overload', { text: 'one', error: { type: 'overloaded_error', message: 'Busy' } }],
    ['reports an overload at once', { error: { type: 'overloaded_error', message: 'Busy' } }],
  ])('tries again when the stream %s', async (_name, reply) => {
    server.reply([reply, { text: 'whole' }]);
    const { result, restarts } = await recordStep(model());
    expect(result.text).toBe('whole');
    expect(restarts).toHaveLength(1);
  });

  it('does not try a request again that is refused inside the stream', async () => {
    server.reply({
      text: 'a',
      error: { type: 'invalid_request_error', code: 'invalid_prompt', message: 'No.' },
    });
    expect(await failure(model())).toMatchObject({ kind: 'bad_request', retryable: false });
    expect(server.requests).toHaveLength(1);
  });

  it('stops at once when it is aborted in the middle of an answer', async () => {
    const stop = new AbortController();
    server.reply({ text: 'one two three', hangAfter: 1 });
    const error = await failure(model(), { signal: stop.signal, onDelta: () => stop.abort() });
    expect(error).toMatchObject({ kind: 'aborted', retryable: false });
    await server.hungUp(1);
  });

  it('stops at once when it is aborted before the answer', async () => {
    const stop = new AbortController();
    server.reply({ hang: true });
    const failed = failure(model(), { signal: stop.signal });
    await server.received(1);
    stop.abort();
    expect(await failed).toMatchObject({ kind: 'aborted' });
    await server.hungUp(1);
  });

  it('stops at once when it is aborted between two attempts', async () => {
    const stop = new AbortController();
    server.reply({ status: 429, headers: { 'retry-after': '50' } });
    const error = await failure(model(), {
      signal: stop.signal,
      retry: { attempts: 3, baseMs: 50_000, maxMs: 50_000 },
      onRestart: () => stop.abort(),
    });
    expect(error).toMatchObject({ kind: 'aborted' });
    expect(server.requests).toHaveLength(1);
  });

  it('asks nothing of the server when it is aborted beforehand', async () => {
    expect(await failure(model(), { signal: AbortSignal.abort() })).toMatchObject({ kind: 'aborted' });
    expect(server.requests).toHaveLength(0);
  });

  it('leaves an answer that is longer than any', async () => {
    server.reply([{ text: 'x'.repeat(9_000_000) }, { text: 'never' }]);
    const error = await failure(model());
    expect(error).toMatchObject({ kind: 'unknown', retryable: false });
    expect(error.message).toContain('more than 8388608 characters');
    expect(server.requests).toHaveLength(1);
  });

  it('passes on what a callback throws, and cancels the stream', async () => {
    const own = Object.assign(new Error('The database is gone.'), { code: 'ECONNRESET' });
    server.reply({ text: 'one two three', hangAfter: 1 });
    const error = await failure(model(), {
      onDelta: () => {
        throw own;
      },
    });
    expect(error).toBe(own);
    await server.hungUp(1);
  });

  it('reports an unreachable server', async () => {
    const closed = model();
    await server.stop();
    const error = await failure(closed, { retry: { ...QUICK_RETRY, attempts: 2 } });
    expect(error).toMatchObject({ kind: 'network', retryable: true });
    expect(error.message).toContain('ECONNREFUSED');
  });
});

it('takes keep-alive comments for a sign of life', async () => {
  const server = await FakeOpenAi.start();
  server.reply({ preamble: ': keep-alive\n\n', hangAfter: 0 });
  const model = PROTOCOLS[0]?.find(server.url);
  const step = recordStep(model, {
    timeouts: { firstByteMs: 20_000, idleMs: 50 },
    retry: { ...QUICK_RETRY, attempts: 1 },
  });
  // Had the comment not counted, the step would still wait for its first byte.
  await expect(step).rejects.toMatchObject({
    kind: 'timeout',
    message: expect.stringContaining('0.05 seconds'),
  });
  await server.stop();
});

it('leaves an answer that says nothing without end', async () => {
  const server = await FakeOpenAi.start();
  server.reply({ preamble: ': keep-alive\n\n'.repeat(5_000_000), hangAfter: 0 });
  const step = recordStep(PROTOCOLS[0]?.find(server.url), { retry: { ...QUICK_RETRY, attempts: 1 } });
  await expect(step).rejects.toMatchObject({
    kind: 'unknown',
    message: expect.stringContaining('more than 67108864 bytes'),
  });
  await server.stop();
});
