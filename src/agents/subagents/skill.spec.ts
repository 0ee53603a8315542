import { describe, expect, it } from '@jest/globals';
import { readSkill } from './definitions.js';

const PATH = '.agents/skills/release-notes/SKILL.md';
const file = (...lines: string[]) => ['---', ...lines, '---', 'Read the log.', ''].join('\n');
const GOOD = ['name: release-notes', 'description: Writes release notes. Use it before a release.'];

describe('a skill', () => {
  it('is what its SKILL.md says', () => {
    expect(readSkill(PATH, file(...GOOD, 'license: MIT', 'metadata:', '  author: Ada'))).toEqual({
      path: PATH,
      name: 'release-notes',
      value: {
        name: 'release-notes',
        description: 'Writes release notes. Use it before a release.',
        folder: '.agents/skills/release-notes',
        instructions: 'Read the log.',
      },
      findings: [],
    });
  });

  it.each([
    [/description is missing/, ['name: release-notes']],
    [/at most/, ['name: release-notes', `description: ${'a'.repeat(1025)}`]],
    [/name "Release Notes" must be/, ['name: Release Notes', 'description: a']],
    [/name "a--b" must be/, ['name: a--b', 'description: a']],
    [/name ".*" must be/, [`name: ${'a'.repeat(65)}`, 'description: a']],
    [/not valid YAML/, ['name: [']],
  ])('is not offered, with the reason %s', (reason, lines) => {
    const { value, findings } = readSkill(PATH, file(...lines));
    expect(value).toBeNull();
    expect(findings.map(({ message }) => message).join()).toMatch(reason);
  });

  it.each([
    [/not that of its folder "release-notes"/, ['name: notes', 'description: a']],
    [/"descriptoin" is not a known key/, [...GOOD, 'descriptoin: a']],
    [/compatibility must be/, [...GOOD, `compatibility: ${'a'.repeat(501)}`]],
    [/metadata must be/, [...GOOD, 'metadata: 1']],
    [/allowed-tools does not widen/, [...GOOD, 'allowed-tools: bash']],
  ])('is offered with the warning %s', (warning, lines) => {
    const { value, findings } = readSkill(PATH, file(...lines));
    expect(value).not.toBeNull();
    expect(findings).toMatchObject([{ severity: 'warning', message: expect.stringMatching(warning) }]);
  });
});
