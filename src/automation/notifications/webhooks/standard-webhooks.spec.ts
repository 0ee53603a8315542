import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { newStandardSecret as newSecret } from '#libs/webhooks/index.js';
import { messageBody, RETRY_DELAYS, retryDelay, signedHeaders } from './standard-webhooks.js';

describe('signedHeaders', () => {
  it('are what receivers verify, by each of the secrets', () => {
    const secrets = [newSecret(), newSecret()];
    const body = messageBody('run.failed', new Date(), { name: 'Grüße €' });
    const headers = signedHeaders('msg_1', body, secrets);
    for (const secret of secrets)
      expect(new Webhook(secret).verify(body, headers)).toMatchObject({ data: { name: 'Grüße €' } });
    expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow();
    expect(() =>
      new Webhook(secrets[0] as string).verify(body, { ...headers, 'webhook-id': 'msg_2' }),
    ).toThrow();
    const old = signedHeaders('msg_1', body, secrets, new Date(Date.now() - 600_000));
    expect(() => new Webhook(secrets[0] as string).verify(body, old)).toThrow();
  });
});

describe('retryDelay', () => {
  it('grows to ten hours, spread by a fifth, and ends after eight attempts', () => {
    expect(RETRY_DELAYS.map((_, index) => retryDelay(index + 1, 0, 0.5))).toEqual([...RETRY_DELAYS]);
    expect([retryDelay(1, 0, 0), retryDelay(1, 0, 1)]).toEqual([4000, 6000]);
    expect(retryDelay(8)).toBeUndefined();
    expect(RETRY_DELAYS.map(ms => ms / 60_000)).toEqual([1 / 12, 5, 30, 120, 300, 600, 600]);
  });

  it('waits as long as the receiver asks, up to ten hours, and never less than planned', () => {
    const asked = [1000, 120_000, Number.POSITIVE_INFINITY].map(ms => retryDelay(1, ms, 0.5));
    expect(asked).toEqual([5000, 120_000, 36_000_000]);
    expect(retryDelay(8, 1000)).toBeUndefined();
  });
});

describe('messageBody', () => {
  it('leaves data out that is too much', () => {
    const at = new Date('2026-11-22T10:00:00Z');
    const body = JSON.parse(messageBody('run.failed', at, { text: '€'.repeat(7000) }));
    expect(body).toEqual({ type: 'run.failed', timestamp: at.toISOString(), data: { truncated: true } });
  });
});
