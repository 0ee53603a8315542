import { describe, expect, it } from '@jest/globals';
import { Config } from '../../../platform/config/index.js';
import { HostingFacts } from '../../../platform/health/index.js';
import { createLog } from '../../../platform/log/index.js';
import { HostingDomain } from './hosting-domain.js';

function domainFor(environment: Record<string, string>): HostingDomain {
  const config = Config.from({ LOG_LEVEL: 'silent', ...environment });
  return new HostingDomain(config, new HostingFacts(), createLog(config));
}

const originFor = (environment: Record<string, string>, version?: number) => {
  const domain = domainFor(environment);
  return domain.originOf(domain.hostOf('site', 'docs', version) ?? '');
};

describe('the origin of a site', () => {
  it.each([
    [{}, 'http://docs.sites.localhost:3000'],
    [{ PORT: '4000' }, 'http://docs.sites.localhost:4000'],
    [{ PUBLIC_URL: 'http://127.0.0.1:3000' }, 'http://docs.sites.localhost:3000'],
    [{ PUBLIC_URL: 'https://work.example.com' }, 'https://docs.sites.work.example.com'],
    [{ PUBLIC_URL: 'https://work.example.com:8443' }, 'https://docs.sites.work.example.com:8443'],
    [{ PUBLIC_URL: 'https://192.0.2.1', HOSTING_DOMAIN: 'Example.App.' }, 'https://docs.sites.example.app'],
  ])('with %j is %s', (environment, origin) => {
    expect(originFor(environment)).toBe(origin);
    expect(() => domainFor(environment).requireUsable()).not.toThrow();
  });

  it('of a version is one label below as well, so that one certificate covers both', () => {
    expect(originFor({}, 12)).toBe('http://v12--docs.sites.localhost:3000');
  });

  it.each(['http://192.0.2.1:3000', 'https://[2001:db8::1]'])(
    'is none for %s, and it is said what to set',
    PUBLIC_URL => {
      const domain = domainFor({ PUBLIC_URL });
      expect(domain.hostOf('site', 'docs')).toBeNull();
      expect(domain.holds('docs.sites.undefined')).toBe(false);
      expect(() => domain.requireUsable()).toThrow(/PUBLIC_URL.*HOSTING_DOMAIN/);
    },
  );

  it.each(['192.0.2.1', 'a b', 'https://example.app'])('cannot be below %j', HOSTING_DOMAIN => {
    expect(() => domainFor({ HOSTING_DOMAIN })).toThrow('HOSTING_DOMAIN must be');
  });
});
