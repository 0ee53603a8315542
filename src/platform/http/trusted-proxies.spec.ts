import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { Config } from '../config/index.js';
import { TrustedProxies } from './trusted-proxies.js';

const proxies = (environment: Record<string, string>) => new TrustedProxies(Config.from(environment));
const from = (remoteAddress: string, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;

describe('where a request comes from', () => {
  const behind = proxies({
    PUBLIC_URL: 'https://a.example.com',
    TRUSTED_PROXIES: 'loopback,10.1.0.0/16,2001:db8::7',
  });

  it.each([
    ['127.0.0.1', '203.0.113.5', '203.0.113.5'],
    ['::ffff:127.0.0.1', '203.0.113.5', '203.0.113.5'],
    ['10.1.2.3', '198.51.100.1, 203.0.113.5, 127.0.0.1', '203.0.113.5'],
    ['2001:db8::7', '2001:db8::8', '2001:db8::8'],
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['127.0.0.1', 'nonsense', '127.0.0.1'],
    ['127.0.0.1', '198.51.100.1, nonsense', '127.0.0.1'],
    ['127.0.0.1', undefined, '127.0.0.1'],
  ])('by %s with %j is %s', (peer, forwarded, client) => {
    expect(behind.clientOf(from(peer, forwarded))).toBe(client);
  });

  it('is the peer where nothing is known of proxies', () => {
    const unknown = proxies({ TRUSTED_PROXIES: 'loopback' });
    expect(unknown.clientOf(from('127.0.0.1', '203.0.113.5'))).toBe('127.0.0.1');
    expect(['127.0.0.1', '203.0.113.5'].map(peer => [unknown.believes(peer), behind.believes(peer)])).toEqual(
      [
        [false, true],
        [false, false],
      ],
    );
  });
});
