import { describe, expect, it } from '@jest/globals';
import { Config } from '../../platform/config/index.js';
import { Ingress } from '../../platform/ingress/index.js';
import { ShareOrigin } from './share-origin.js';

function originFor(environment: Record<string, string>): ShareOrigin {
  const config = Config.from(environment);
  return new ShareOrigin(config, new Ingress(config));
}

describe('the host of share links', () => {
  it.each([
    [{ PUBLIC_URL: 'https://work.example.com' }, 'https://share.work.example.com/s/t'],
    [{ PUBLIC_URL: 'https://work.example.com:8443/' }, 'https://share.work.example.com:8443/s/t'],
    [{ PORT: '4000' }, 'http://share.localhost:4000/s/t'],
    [{ PUBLIC_URL: 'http://127.0.0.1:3000' }, 'http://share.localhost:3000/s/t'],
    [{ PUBLIC_URL: 'http://[::1]:3000' }, 'http://share.localhost:3000/s/t'],
  ])('of %j is that of %s', (environment, url) => {
    expect(originFor(environment).urlOf('t')).toBe(url);
    expect(() => originFor(environment).requireUsable()).not.toThrow();
  });

  it.each(['http://192.168.1.5:3000', 'https://[2001:db8::1]'])('is none for %s', PUBLIC_URL => {
    expect(originFor({ PUBLIC_URL }).urlOf('t')).toBeNull();
    expect(() => originFor({ PUBLIC_URL }).requireUsable()).toThrow('PUBLIC_URL');
  });

  it.each(['work.example.com:80', 'nonsense'])(
    'cannot be asked for where the service refuses %s',
    PUBLIC_URL => {
      expect(() => originFor({ PUBLIC_URL })).toThrow('PUBLIC_URL must be the address of the service');
    },
  );
});
