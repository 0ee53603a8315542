import { expect, it } from '@jest/globals';
import type { RunContext } from './run-context.js';
import { limitTools } from './tool-lists.js';

const KNOWN = ['read_file', 'write_file', 'list_files', 'bash', 'actions_run', 'integration_request', 'task'];

const listsFor = (tools: string[], untrusted: boolean, actions: string[] = []) =>
  limitTools(
    { pinned: { definition: { tools, actions } }, delivery: { untrusted } } as unknown as RunContext,
    KNOWN,
  );

it('is the list of the file where all that came in is known', () => {
  expect(listsFor(['*', 'mcp__linear__*'], false, ['chat_*'])).toEqual([
    ['*', 'mcp__linear__*', 'action:chat_*', 'read_input'],
  ]);
});

it('has a glob stand for harmless tools where strangers have a part in what came in', () => {
  expect(listsFor(['*'], true)).toEqual([['read_file', 'write_file', 'list_files', 'task', 'read_input']]);
  expect(listsFor(['*_file', 'bas*'], true)).toEqual([['read_file', 'write_file', 'read_input']]);
  expect(listsFor(['mcp__linear__*'], true)).toEqual([['read_input']]);
});

it('has what the file names in full, by strangers too', () => {
  expect(listsFor(['bash', 'mcp__linear__create_issue'], true, ['share_create'])).toEqual([
    ['bash', 'mcp__linear__create_issue', 'action:share_create', 'read_input'],
  ]);
});
