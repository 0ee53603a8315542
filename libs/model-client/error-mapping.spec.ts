import { APICallError, JSONParseError, type LanguageModelV4, TypeValidationError } from '@ai-sdk/provider';
import { DemoModel } from './demo-model.js';
import { toModelError } from './error-mapping.js';
import type { ModelErrorKind } from './model-error.js';

const MODEL: LanguageModelV4 = Object.assign(new DemoModel(), { provider: 'openai.responses', modelId: 'm' });

function http(statusCode: number | undefined, body: unknown = '', cause?: unknown): APICallError {
  const responseBody = typeof body === 'string' ? body : JSON.stringify(body);
  return new APICallError({
    message: 'Failed',
    url: 'https://x',
    requestBodyValues: {},
    statusCode,
    responseBody,
    cause,
  });
}

function withCode(code: string): Error {
  return Object.assign(new Error(`It was ${code}`), { code });
}

describe('the kind of a model error', () => {
  it.each<[string, unknown, ModelErrorKind, boolean]>([
    ['a key that Google rejects with 400', http(400, google('API_KEY_INVALID')), 'auth', false],
    [
      'a context that is too long for OpenAI',
      http(400, openai('context_length_exceeded')),
      'context_length',
      false,
    ],
    [
      'a context that is too long for llama.cpp',
      http(400, { error: { message: 'exceeds the available context size' } }),
      'context_length',
      false,
    ],
    ['a body that is too large', http(413), 'context_length', false],
    [
      'tokens a minute used up',
      http(429, { error: { message: 'Too many tokens per minute' } }),
      'rate_limited',
      true,
    ],
    [
      'an account without credit',
      http(400, { error: { message: 'Your credit balance is too low' } }),
      'rate_limited',
      false,
    ],
    ['a payment that is due', http(402), 'rate_limited', false],
    ['a content policy', http(400, openai('content_policy_violation')), 'refused', false],
    ['an unknown model of Ollama', http(404, { error: 'model "x" not found' }), 'not_found', false],
    ['a request timeout', http(408), 'timeout', true],
    ['a proxy with an HTML page', http(502, '<html>Bad gateway</html>'), 'overloaded', true],
    ['an overload', http(529), 'overloaded', true],
    ['a lost connection', http(undefined, '', withCode('ECONNRESET')), 'network', true],
    ['a body that broke off', http(200, '', withCode('UND_ERR_SOCKET')), 'network', true],
    [
      'an untrusted certificate',
      http(undefined, '', withCode('DEPTH_ZERO_SELF_SIGNED_CERT')),
      'network',
      false,
    ],
    ['a rate limit inside a stream', { message: 'Slow', type: 'rate_limit_error' }, 'rate_limited', true],
    ['a numeric code inside a stream', { message: 'Busy', code: 503 }, 'overloaded', true],
    ['a bare text inside a stream', 'something broke', 'overloaded', true],
    ['nothing inside a stream', null, 'overloaded', true],
    ['a programming error', new RangeError('out of range'), 'unknown', false],
  ])('is right for %s', (_name, thrown, kind, retryable) => {
    expect(toModelError(thrown, MODEL)).toMatchObject({ kind, retryable });
  });

  it('says where an answer is not what the protocol says, and nothing else of it', () => {
    const cause = { issues: [{ path: ['usage', 'prompt_tokens'], message: 'Too small' }] };
    const unread = new TypeValidationError({ value: { secret: 'word' }, cause });
    expect(toModelError(unread, MODEL)).toMatchObject({
      kind: 'unknown',
      message: expect.stringMatching(
        /could not be read: usage\.prompt_tokens is not what the protocol says\.$/,
      ),
    });
    const broken = new JSONParseError({ text: 'word', cause: new SyntaxError('x') });
    expect(toModelError(broken, MODEL).message).not.toContain('word');
  });

  it('reads the wait that Google asks for in the body', () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }];
    const body = { error: { code: 429, message: 'Quota', status: 'RESOURCE_EXHAUSTED', details } };
    expect(toModelError(http(429, body), MODEL)).toMatchObject({
      kind: 'rate_limited',
      retryAfterMs: 34_500,
    });
  });

  it('keeps the cause of a programming error, but not of an API error, which holds the prompt', () => {
    const own = new RangeError('out of range');
    expect(toModelError(own, MODEL).cause).toBe(own);
    expect(toModelError(http(500), MODEL).cause).toBeUndefined();
  });
});

describe('the message of a model error', () => {
  it('is one line that names the provider and what it said', () => {
    const error = toModelError(
      http(400, { error: { message: `Too\n many   legs${' x'.repeat(500)}` } }),
      MODEL,
    );
    expect(error.message).toMatch(/^openai did not accept the request \(400\): Too many legs x/);
    expect(error.message.length).toBeLessThan(400);
  });

  it.each([
    'sk-proj-abcdefghijklmnop',
    'sk-ant-api03-abc_def-ghi',
    'AIzaSyA1234567890abcdefghijk',
    'Bearer abcdef123456',
    'api_key=abcdef123456',
    'gsk_abcdefghijkl',
  ])('blots out %s', key => {
    const { message } = toModelError(http(400, { error: { message: `Wrong: ${key} !` } }), MODEL);
    expect(message).toContain('[key]');
    expect(message).not.toContain('abcdef');
    expect(message).not.toContain('1234567890');
  });

  it('leaves ordinary words alone', () => {
    const said = 'risk-averse task_handlers need a keyword, not a skeleton';
    expect(toModelError(http(400, { error: { message: said } }), MODEL).message).toContain(said);
  });
});

function openai(code: string) {
  return { error: { message: 'No.', type: 'invalid_request_error', code } };
}

function google(reason: string) {
  return { error: { code: 400, message: 'No.', status: 'INVALID_ARGUMENT', details: [{ reason }] } };
}
