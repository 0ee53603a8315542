import { expect, it } from '@jest/globals';
import { matchesFilter, valueAt } from './index.js';

const given = {
  headers: { 'x-event': 'issues' },
  body: { action: 'opened', sender: { bot: false }, text: `${'a'.repeat(20_000)}b` },
};

it.each([
  [{}, true],
  [{ 'headers.x-event': 'issues', 'body.action': ['opened', 'closed'] }, true],
  [{ 'body.sender.bot': { not: true } }, true],
  [{ 'body.sender.bot': { not: [true, false] } }, false],
  [{ 'body.action': 'closed' }, false],
  [{ 'body.action': ['closed'] }, false],
  [{ 'body.missing': null }, true],
  [{ 'body.missing.deeper': { not: 1 } }, true],
  [{ 'body.action': { matches: '^open' } }, true],
  [{ 'body.action': { matches: '^close' } }, false],
  [{ 'body.sender': { matches: '' } }, false],
  [{ 'body.text': { matches: 'b$' } }, false],
  [{ 'body.constructor': null, 'body.__proto__': null, 'body.action.length': null }, true],
])('%j lets it through: %j', (filter, isWanted) => {
  expect(matchesFilter(filter, given)).toBe(isWanted);
});

it('a filter takes no longer than the text is long', () => {
  expect(matchesFilter({ 'body.text': { matches: '^(a+)+$' } }, given)).toBe(true);
  expect(matchesFilter({ 'body.action': { matches: '(o*)*x' } }, given)).toBe(false);
});

it('a path leads to what stands there, and nowhere else', () => {
  expect(valueAt(given, ['body', 'sender', 'bot'])).toBe(false);
  expect(valueAt(given, ['body', 'toString'])).toBeUndefined();
  expect(valueAt(null, ['body'])).toBeUndefined();
});
