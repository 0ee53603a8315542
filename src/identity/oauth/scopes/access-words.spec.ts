import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SCOPES } from '../../../platform/access/index.js';
import { accessWords, SCOPE_WORDS, SEE_ALL } from './access-words.js';
import { expandScopes, isAdministration, isRead, OFFERED_SCOPES } from './scopes.js';

const scopeSets = fc.subarray([...OFFERED_SCOPES], { minLength: 1 });
const exposures = fc.subarray(['Share a file by a link', 'Invite somebody', 'Change the role of a member']);

describe('what an application asks for', () => {
  it('has words for every scope that there is, the strongest first', () => {
    expect(Object.keys(SCOPE_WORDS).sort()).toEqual([...SCOPES].sort());
    expect(new Set(Object.values(SCOPE_WORDS)).size).toBe(SCOPES.length);
    const rank = (scope: string) => (isAdministration(scope) ? 0 : isRead(scope) ? 2 : 1);
    const ranks = Object.keys(SCOPE_WORDS).map(rank);
    expect(ranks).toEqual(ranks.toSorted());
  });

  it('is shown in full, and its summary is true, whatever it is', () => {
    fc.assert(
      fc.property(scopeSets, exposures, (asked, exposing) => {
        const { title, hint, groups } = accessWords(asked, exposing);
        const scopes = expandScopes(asked);
        const items = groups.flatMap(group => group.items);
        for (const scope of scopes)
          expect(items.includes(SCOPE_WORDS[scope] ?? '') || (isRead(scope) && items.includes(SEE_ALL))).toBe(
            true,
          );
        for (const item of exposing) expect(items).toContain(item);
        expect(items.length).toBeLessThanOrEqual(scopes.length + exposing.length);
        expect(items.includes(SEE_ALL)).toBe(SCOPES.filter(isRead).every(scope => scopes.includes(scope)));

        const administers = scopes.some(isAdministration);
        const changes = scopes.some(scope => !isRead(scope));
        expect(/administer/i.test(title)).toBe(administers);
        expect(/administers:/.test(hint)).toBe(administers);
        expect(title === 'Only look').toBe(!changes);
        expect(hint === 'It changes nothing.').toBe(!changes);
        if (changes) expect(/administers nothing/.test(hint)).toBe(!administers);
        expect(/\blook\b/i.test(title)).toBe(scopes.some(isRead));
        if (changes) expect(/has to ask you/.test(hint)).toBe(exposing.length > 0);
        expect(groups.map(group => group.isGrave)).toEqual(
          groups.map(group => group.isGrave).toSorted((a, b) => Number(b) - Number(a)),
        );
        expect(groups[0]?.title === 'Administer').toBe(administers);
      }),
      { seed: 1, numRuns: 2_000 },
    );
  });
});
