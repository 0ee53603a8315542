import { describe, expect, it } from '@jest/globals';
import { errorFields, withoutSecrets } from './log.js';

describe('an error in the log', () => {
  it('tells its message, stack and code, and nothing that it carries', () => {
    const error = Object.assign(new Error('duplicate key'), {
      code: '23505',
      constraint: 'user_email_key',
      detail: 'Failing row contains (ada, $argon2id$hash).',
      parameters: ['hunter2'],
      request: { headers: { 'x-api-key': 'atl_secret' } },
    });
    const fields = errorFields(error);
    expect(fields).toMatchObject({ type: 'Error', message: 'duplicate key', code: '23505' });
    expect(fields).toHaveProperty('stack', expect.stringContaining('log-errors.spec'));
    expect(JSON.stringify(fields)).not.toMatch(/argon2id|hunter2|atl_secret/);
  });

  it('tells its causes and its parts', () => {
    const cause = new Error('connect ECONNREFUSED postgresql://atelier:hunter2@db/atelier');
    const text = JSON.stringify([
      errorFields(new Error('no database', { cause })),
      errorFields(new AggregateError([cause], 'several')),
    ]);
    expect(text.match(/ECONNREFUSED postgresql:\/\/atelier:\[hidden\]@db/g)?.length).toBeGreaterThanOrEqual(
      2,
    );
    expect(text).not.toContain('hunter2');
  });

  it('may be no error at all', () => {
    expect(errorFields('broken')).toEqual({ message: 'broken' });
    expect(errorFields(undefined)).toEqual({ message: 'undefined' });
  });
});

it.each([
  ['redis://:hunter2@cache:6379 is away', 'redis://:[hidden]@cache:6379 is away'],
  [`key atl_${'x'.repeat(43)}_0123abcd`, 'key [hidden]'],
  ['Authorization: Bearer abc.def-123', 'Authorization: Bearer [hidden]'],
  ['jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', 'jwt [hidden]'],
  ['Incorrect API key provided: sk-proj-abcdefghijklmnop', 'Incorrect API key provided: [hidden]'],
  ['https://example.com/a@b stays', 'https://example.com/a@b stays'],
])('hides what looks like a secret in: %s', (text, hidden) => {
  expect(withoutSecrets(text)).toBe(hidden);
});

it('is not stalled by text that begins like a secret again and again', () => {
  expect(withoutSecrets('eyJ'.repeat(500_000)).length).toBeLessThan(20_000);
});
