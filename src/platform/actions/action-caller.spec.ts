import { describe, expect, it } from '@jest/globals';
import { ActionAllowlist, allows } from './action-caller.js';

it.each([
  ['chat_list', 'chat_list', true],
  ['chat_list', 'chat_lists', false],
  ['*', 'anything', true],
  ['chat_*', 'chat_list', true],
  ['*_list', 'chat_list', true],
  ['c*t_*t', 'chat_list', true],
  ['c*x*t', 'chat_list', false],
  ['ab*ba', 'aba', false],
  ['', '', true],
  ['.*', 'chat_list', false],
])('%s against %s: %s', (pattern, name, expected) => {
  expect(allows([pattern], name)).toBe(expected);
});

it('takes patterns of many stars', () => {
  expect(allows([`${'a*'.repeat(500)}b`], 'a'.repeat(5_000))).toBe(false);
});

describe('an allowlist', () => {
  const read = { name: 'file_read', effect: 'read' } as const;
  const remove = { name: 'file_delete', effect: 'destructive' } as const;

  it.each([
    [null, true, false],
    [['*'], true, false],
    [['actions_*'], true, false],
    [['actions_run'], true, false],
    [['bash', 'actions_search'], false, false],
    [['action:file_*'], true, false],
    [['action:file_delete'], false, true],
    [['actions_*', 'action:file_delete'], true, true],
    [['bash'], false, false],
    [[], false, false],
  ])('of the tools %j allows to read %s, to destroy %s', (tools, reads, destroys) => {
    const allowlist = ActionAllowlist.ofTools(tools);
    expect([allowlist.allows(read), allowlist.allows(remove)]).toEqual([reads, destroys]);
  });

  it('is empty where no tool says a word about actions', () => {
    expect(ActionAllowlist.ofTools(['bash', 'read_file']).isEmpty).toBe(true);
  });
});
