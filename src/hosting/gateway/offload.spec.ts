import type { IncomingMessage } from 'node:http';
import { expect, it } from '@jest/globals';
import { Config } from '../../platform/config/index.js';
import { TrustedProxies } from '../../platform/http/index.js';
import { Offload } from './offload.js';

it('files are left to a proxy that is trusted alone, where that is wanted', () => {
  const isLeft = (environment: Record<string, string>, remoteAddress: string) => {
    const config = Config.from(environment);
    const request = { socket: { remoteAddress } } as unknown as IncomingMessage;
    return new Offload(config, new TrustedProxies(config)).isFor(request);
  };
  const nginx = { GATEWAY_OFFLOAD: 'nginx', TRUSTED_PROXIES: '10.0.0.0/8' };
  expect(isLeft(nginx, '10.1.2.3')).toBe(true);
  expect(isLeft(nginx, '203.0.113.5')).toBe(false);
  expect(isLeft({ TRUSTED_PROXIES: '10.0.0.0/8' }, '10.1.2.3')).toBe(false);
});
