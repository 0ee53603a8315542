/**
 * Wishes in the words of people who do not know the names of actions. The second list was written at the same time as
 * the first and was not looked at while words and weights of the search were chosen: keep it so, and change the search
 * by what the first one shows.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from '../harness/client.js';
import { TestService } from '../harness/service.js';

/** A wish, and the actions that grant it; most wishes have one. */
type Wish = readonly [wish: string, ...actions: string[]];

const FIRST_LIST: Wish[] = [
  ['create a folder', 'folder_create'],
  ['undo what the agent did', 'run_rollback'],
  ['make the workspace private', 'workspace_visibility_set'],
  ['allow internet access for the sandbox', 'egress_update'],
  ['who am I', 'principal_get', 'account_get'],
  ['kick someone out', 'member_remove', 'workspace_member_remove'],
  ['publish a page publicly', 'share_create'],
  ['grep', 'workspace_search'],
  ['upload a file', 'file_write'],
  ['delete a file', 'file_delete'],
  ['rename a file', 'file_move'],
  ['invite my colleague', 'invitation_create'],
  ['see what changed recently', 'audit_list', 'file_version_list'],
  ['restore an old version of a file', 'file_restore'],
  ['talk to the agent', 'agent_send'],
  ['stop the agent', 'run_stop'],
  ['copy a workspace', 'workspace_duplicate'],
  ['make an api key', 'key_create'],
  ['share a file with a link', 'share_create'],
  ['how much money have I spent', 'billing_get', 'billing_usage_get'],
  ['give someone admin rights', 'member_update'],
  ['list the files in a directory', 'file_list'],
  ['see earlier versions of a document', 'file_version_list'],
  ['let the agent work without asking me', 'approval_policy_update'],
  ['what can people outside see', 'exposure_list'],
  ['which tools does the agent have', 'tool_list'],
  ['put a password on a link', 'share_update', 'share_create'],
  ['hand the organization over to somebody else', 'organization_transfer'],
];

const HELD_OUT: Wish[] = [
  ['start a new workspace', 'workspace_create'],
  ['read a document', 'file_read'],
  ['find a file by its name', 'workspace_search'],
  ['replace text in a file', 'file_edit'],
  ['throw away a share link', 'share_revoke'],
  ['cancel an invitation', 'invitation_revoke'],
  ['leave the organization', 'organization_leave'],
  ['which models can I use', 'model_list', 'model_settings_get'],
  ['approve what the agent wants to do', 'approval_decide'],
  ['reject a tool call', 'approval_decide'],
  ['set a spending limit', 'organization_budget_set', 'workspace_budget_set'],
  ['block the network for the sandbox', 'egress_update'],
  ['replace a leaked key', 'key_rotate'],
  ['who did what', 'audit_list'],
  ['delete a chat', 'chat_delete'],
  ['rename a chat', 'chat_update'],
  ['who is on my team', 'member_list'],
  ['change my name', 'account_update'],
  ['unzip an archive', 'file_extract'],
  ['how full is my disk', 'billing_get', 'billing_usage_get'],
  ['what is the agent doing right now', 'run_list', 'run_status_get', 'sandbox_list'],
  ["take away someone's access to a workspace", 'workspace_member_remove'],
  ['move a file to another folder', 'file_move'],
  ['add a bot account', 'service_account_create'],
  ['list my conversations', 'chat_list'],
  ['turn off sharing', 'features_update'],
  ['how many tokens did we use', 'billing_usage_get', 'billing_get'],
  ['compare two versions of a document', 'file_version_diff'],
];

let service: TestService;
let owner: Client;

beforeAll(async () => {
  service = await TestService.start();
  const person = await service.person();
  owner = person.client;
  // Actions of workspaces are found by those who have one.
  await service.workspace(person);
});
afterAll(() => service.stop());

describe.each([
  ['everyday wishes', FIRST_LIST],
  ['everyday wishes that the search was not made for', HELD_OUT],
])('of 28 %s', (_title, wishes) => {
  it('at least 25 find their action among the first three, 20 at once', async () => {
    const found = await Promise.all(wishes.map(find));
    const missed = found.filter(({ place }) => place !== 1);
    const firstThree = found.filter(({ place }) => place >= 1 && place <= 3).length;
    const enough = found.length === 28 && missed.length <= 8 && firstThree >= 25;
    expect({ missed, firstThree, enough }).toEqual({ missed, firstThree, enough: true });
  });

  it('name actions that exist', async () => {
    const names = [...new Set(wishes.flatMap(([, ...actions]) => actions))];
    const answers = await Promise.all(names.map(name => owner.get(`/api/actions/${name}`)));
    expect(names.filter((_, at) => answers[at]?.status !== 200)).toEqual([]);
  });
});

/** Where the wish's action is in what is found, from 1; 0 where it is not. */
async function find([wish, ...actions]: Wish) {
  const { body } = await owner.get(`/api/actions?limit=10&q=${encodeURIComponent(wish)}`);
  const names: string[] = body.items.map(({ name }: { name: string }) => name);
  return { wish, names, place: names.findIndex(name => actions.includes(name)) + 1 };
}
