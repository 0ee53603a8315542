import { describe, expect, it } from '@jest/globals';
import { requireSlug, SLUG, SLUG_HINT, slugify } from './slugs.js';

describe('a slug made of a name', () => {
  it.each([
    ['Field notes, autumn 2026', 'field-notes-autumn-2026'],
    ['Übersicht – Köln', 'ubersicht-koln'],
    ['  --  ', ''],
    ['文档', ''],
    ['API', 'api-site'],
    [`${'long '.repeat(12)}`, 'long-long-long-long-long-long-long-long'],
  ])('of %j is %j', (name, slug) => {
    expect(slugify(name)).toBe(slug);
    if (slug) expect(() => requireSlug(slug)).not.toThrow();
  });
});

it('is small letters, digits and single hyphens', () => {
  for (const slug of ['a', 'docs-2', 'a'.repeat(40)]) expect(SLUG.test(slug)).toBe(true);
  for (const slug of ['a--b', 'v1--a', '-a', 'a-', 'A', 'a'.repeat(41), 'a_b', 'a\n'])
    expect([slug, SLUG.test(slug)]).toEqual([slug, false]);
  expect(() => requireSlug('a--b')).toThrow(SLUG_HINT);
});
