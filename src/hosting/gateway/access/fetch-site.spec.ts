import { describe, expect, it } from '@jest/globals';
import { cookieCounts, isBot, isNavigation, isSameOrigin } from './fetch-site.js';

const OWN = 'https://docs.sites.example.com';
const SIBLING = 'https://evil.sites.example.com';
const of = (headers: Record<string, string>, method = 'GET') => ({ method, headers });
const fetched = (
  site: string,
  mode: string,
  dest: string,
  more: Record<string, string> = {},
  method = 'GET',
) => of({ 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest, ...more }, method);

describe('a cookie', () => {
  it.each([
    ['an address that was typed', fetched('none', 'navigate', 'document')],
    ['a link of another site', fetched('cross-site', 'navigate', 'document')],
    ['a link of a neighbour', fetched('same-site', 'navigate', 'document')],
    ['a script of the site', fetched('same-origin', 'cors', 'empty', { origin: OWN }, 'POST')],
    ['a picture of the site', fetched('same-origin', 'no-cors', 'image')],
    ['a socket of the site', fetched('same-origin', 'websocket', 'websocket', { origin: OWN })],
    ['a browser of old', of({ accept: 'text/html' })],
    ['a form of the site, in a browser of old', of({ origin: OWN }, 'POST')],
    [
      'an origin that is allowed',
      fetched('same-site', 'cors', 'empty', { origin: 'https://ok.example.com' }),
    ],
  ])('counts for %s', (_what, request) => {
    expect(cookieCounts(request, OWN, ['https://ok.example.com'])).toBe(true);
  });

  it.each([
    ['a script of a neighbour', fetched('same-site', 'cors', 'empty', { origin: SIBLING })],
    ['a picture on a neighbour', fetched('same-site', 'no-cors', 'image')],
    ['a frame on a neighbour', fetched('same-site', 'navigate', 'iframe')],
    ['a form of a neighbour', fetched('same-site', 'navigate', 'document', { origin: SIBLING }, 'POST')],
    ['a form of nobody', fetched('same-site', 'navigate', 'document', { origin: 'null' }, 'POST')],
    ['a form without an origin', fetched('same-site', 'navigate', 'document', {}, 'POST')],
    ['a socket of a neighbour', fetched('same-site', 'websocket', 'websocket', { origin: SIBLING })],
    ['another origin, in a browser of old', of({ origin: SIBLING })],
  ])('does not count for %s', (_what, request) => {
    expect(cookieCounts(request, OWN, ['https://ok.example.com'])).toBe(false);
  });
});

it('a navigation is one in a tab, by a method that changes nothing', () => {
  expect(isNavigation(fetched('none', 'navigate', 'document'))).toBe(true);
  expect(isNavigation(of({ accept: 'text/html,*/*' }))).toBe(true);
  expect(isNavigation(of({ accept: '*/*' }))).toBe(false);
  expect(isNavigation(fetched('same-origin', 'cors', 'empty', { accept: 'text/html' }))).toBe(false);
  expect(isNavigation(fetched('none', 'navigate', 'iframe'))).toBe(false);
  expect(isNavigation(fetched('none', 'navigate', 'document', {}, 'POST'))).toBe(false);
});

it('a request of the same origin says so', () => {
  expect(isSameOrigin(of({ origin: OWN }, 'POST'), OWN)).toBe(true);
  expect(isSameOrigin(of({ 'sec-fetch-site': 'same-origin' }), OWN)).toBe(true);
  expect(isSameOrigin(of({ 'sec-fetch-site': 'same-origin', origin: SIBLING }), OWN)).toBe(false);
  expect(isSameOrigin(of({}, 'POST'), OWN)).toBe(false);
});

it('knows programs that make previews', () => {
  expect(isBot(of({ 'user-agent': 'Slackbot-LinkExpanding 1.0' }))).toBe(true);
  expect(isBot(of({ 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36' }))).toBe(
    false,
  );
});
