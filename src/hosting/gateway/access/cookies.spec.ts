import { expect, it } from '@jest/globals';
import { HostedCookies } from './cookies.js';

it('under HTTPS a cookie is of its host alone, and neighbours cannot set it', () => {
  const cookies = new HostedCookies(true);
  expect(cookies.set('visit', 'secret')).toBe(
    '__Host-atl_visit=secret; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure',
  );
  expect(cookies.clear('start')).toBe('__Host-atl_start=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure');
  expect(cookies.read({ cookie: 'atl_visit=tossed; __Host-atl_visit=secret' }, 'visit')).toEqual(['secret']);
});

it('without HTTPS, where there are no prefixes, all cookies of the name are tried, up to a number', () => {
  const cookies = new HostedCookies(false);
  expect(cookies.set('round', '1')).toBe('atl_round=1; Path=/; Max-Age=30; HttpOnly; SameSite=Lax');
  const cookie =
    'atl_visit=tossed; other=1; atl_visit=secret; xatl_visit=no; atl_visit=bad value; atl_visit=';
  expect(cookies.read({ cookie }, 'visit')).toEqual(['tossed', 'secret']);
  const many = Array.from({ length: 50 }, (_, n) => `atl_visit=v${n}`).join('; ');
  expect(cookies.read({ cookie: many }, 'visit')).toHaveLength(8);
  expect(cookies.read({}, 'visit')).toEqual([]);
});
