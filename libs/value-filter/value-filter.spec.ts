import { expect, it } from '@jest/globals';
import { parseJson } from '#libs/exact-json/index.js';
import { type Filter, matchesFilter, mismatchIn, valueAt } from './index.js';

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

it.each([
  ['8202522731445525542', '8202522731445525542', true],
  ['8202522731445525542', '8202522731445525543', false],
  ['[1, 8202522731445525542]', '8202522731445525542', true],
  ['{"not": 8202522731445525542}', '8202522731445525542', false],
  ['{"not": 8202522731445525542}', '8202522731445525543', true],
  ['1e400', '1E+400', true],
  ['5', '5.0', true],
])('the number %s lets %s through: %j', (rule, id, isWanted) => {
  const body = parseJson(`{"id": ${id}, "nested": {"rawJSON": "x"}}`);
  const filter = { 'body.id': parseJson(rule) } as Filter;
  expect(matchesFilter(filter, { body })).toBe(isWanted);
  expect(matchesFilter({ 'body.id.rawJSON': null, 'body.nested.rawJSON': 'x' }, { body })).toBe(true);
});

it('says what does not match', () => {
  const mismatch = (filter: Parameters<typeof mismatchIn>[0]) => mismatchIn(filter, given);
  expect(mismatch({ 'headers.x-event': 'issues' })).toBeNull();
  expect(mismatch({ 'headers.x-event': 'issues', 'body.action': ['closed', 'reopened'] })).toBe(
    'body.action is "opened", but the filter asks for ["closed","reopened"]',
  );
  expect(mismatch({ 'body.missing': { matches: 'x' } })).toBe(
    'body.missing is absent, but the filter asks for {"matches":"x"}',
  );
  expect(mismatch({ 'body.sender': 'x' })).toContain('is an object,');
  expect(mismatch({ 'body.text': 'x' })?.length).toBeLessThan(200);
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
