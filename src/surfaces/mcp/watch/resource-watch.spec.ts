import { describe, expect, it } from '@jest/globals';
import { changesLists, changesOf, isChangedBy } from './resource-watch.js';

const change = (kind: string, path: string, from: string | null = null) => ({ kind, path, from });

describe('what is read at a path', () => {
  it.each<[string, ReturnType<typeof change>, boolean]>([
    ['notes/a.md', change('modified', 'notes/a.md'), true],
    ['notes/a.md', change('modified', 'notes/b.md'), false],
    ['notes/a.md', change('deleted', 'notes'), true],
    ['notes', change('created', 'notes/b.md'), true],
    ['notes', change('created', 'notes/deep/b.md'), false],
    ['', change('created', 'b.md'), true],
    ['', change('created', 'notes/b.md'), false],
    ['notes/a.md', change('moved', 'old/a.md', 'notes/a.md'), true],
    ['notes/a.md', change('moved', 'notes/a.md', 'new.md'), true],
    ['note', change('modified', 'notes/a.md'), false],
  ])('%j after %j: %s', (path, happened, is) => {
    expect(isChangedBy(path, happened)).toBe(is);
  });
});

describe('a list', () => {
  it('of resources is another when a file at the top comes or goes', () => {
    expect(changesLists('resources', change('created', 'a.md'))).toBe(true);
    expect(changesLists('resources', change('modified', 'a.md'))).toBe(false);
    expect(changesLists('resources', change('deleted', 'notes/a.md'))).toBe(false);
    expect(changesLists('resources', change('moved', 'notes/a.md', 'a.md'))).toBe(true);
  });

  it('of prompts is another when an agent changes in any way', () => {
    expect(changesLists('prompts', change('modified', '.agents/poet.md'))).toBe(true);
    expect(changesLists('prompts', change('moved', 'drafts', '.agents'))).toBe(true);
    expect(changesLists('prompts', change('created', 'agents.md'))).toBe(false);
  });
});

describe('a batch of the log', () => {
  it('tells its changes, or that they are not known any more', () => {
    const changed = { id: 7, event: 'file.changed', data: change('created', 'a.md') };
    expect(changesOf([changed])).toEqual([change('created', 'a.md')]);
    expect(changesOf([{ id: 7, event: 'reset', data: { pruned_through: 7 } }])).toBeUndefined();
  });
});
