import { expect, it } from '@jest/globals';
import type { ActionDeclaration } from './action.js';
import { ActionSearch } from './action-search.js';
import { CatalogAction } from './catalog-action.js';

class Nothing {}

const declared: [string, string][] = [
  ['site_create', 'Make a site of a folder'],
  ['site_delete', 'Delete a site and all of its versions'],
  ['site_list', 'List sites'],
  ['site_promote', 'Make a built version live'],
  ['chat_list', 'List the chats that the caller sees, newest first'],
  ['chat_message_list', 'List the messages of a chat'],
  ['file_delete', 'Delete a file or folder'],
  ['folder_create', 'Make a folder and those above it'],
  ['workspace_delete', 'Delete a workspace with its files'],
  ['workspace_list', 'List the workspaces that the caller sees'],
  ['key_list', 'List your API keys'],
];
const search = new ActionSearch(
  declared.map(([name, summary]) => {
    const declaration: ActionDeclaration = {
      name,
      summary,
      effect: 'read',
      permission: null,
      input: null,
      output: Nothing,
    };
    return new CatalogAction(declaration, {}, () => undefined);
  }),
);
const found = (words: string) => search.find(words).map(({ name }) => name);

it.each([
  ['make site live', 'site_promote'],
  ['publish the site', 'site_promote'],
  ['delete file', 'file_delete'],
  ['remove a file', 'file_delete'],
  ['list chats', 'chat_list'],
  ['show me all my chats', 'chat_list'],
  ['chat mesages', 'chat_message_list'],
  ['new folder', 'folder_create'],
  ['work del', 'workspace_delete'],
  ['KEYS', 'key_list'],
  ['site_list', 'site_list'],
])('finds for "%s" %s first', (words, name) => {
  expect(found(words)[0]).toBe(name);
});

it('finds nothing where no word fits, or all are fillers', () => {
  expect(found('quantum')).toEqual([]);
  expect(found('to the of a')).toEqual([]);
  expect(found('!?')).toEqual([]);
});

it('takes words that are names of built-in properties, and very long questions', () => {
  expect(found('constructor __proto__')).toEqual([]);
  expect(found(`delete file ${'x'.repeat(400)}`)[0]).toBe('file_delete');
});
