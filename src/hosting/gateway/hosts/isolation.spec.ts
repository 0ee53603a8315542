import { expect, it } from '@jest/globals';
import { compareSites } from './isolation.js';

it.each([
  ['example.app', 'atelier.example.com', 'separate_site'],
  ['example.com', 'atelier.example.com', 'same_site'],
  ['hosted.example.com', 'example.com', 'same_site'],
  ['acme.co.uk', 'acme-work.co.uk', 'separate_site'],
  ['sites.acme.co.uk', 'work.acme.co.uk', 'same_site'],
  ['localhost', 'localhost', 'same_site'],
  [undefined, '192.0.2.1', 'none'],
])('%s beside %s is %s', (domain, host, isolation) => {
  expect(compareSites(domain, host)).toBe(isolation);
});
