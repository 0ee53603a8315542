/** Something of each kind that has an id, and large things to ask for, in a service that was just started. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { postJson } from '../lib.mjs';

const MIB = 1024 * 1024;
/** As many as a listing, a page and an archive may have to deal with. */
const MANY_FILES = 20_000;

export async function makeThings({ url, credentials, dataDir }) {
  const { email, password, organization_id, workspace_id } = credentials;
  const signIn = async () => {
    const { access_token } = await postJson(`${url}/api/auth/login`, {}, { email, password });
    return { authorization: `Bearer ${access_token}` };
  };
  const headers = await signIn();
  const post = (address, body = {}) => postJson(url + address, headers, body);
  const get = async address => (await fetch(url + address, { headers })).json();

  const place = path.join(dataDir, 'workspaces', workspace_id);
  for (const [name, content] of Object.entries(FILES())) {
    mkdirSync(path.dirname(path.join(place, name)), { recursive: true });
    writeFileSync(path.join(place, name), content);
  }
  mkdirSync(path.join(place, 'many'), { recursive: true });
  for (let n = 0; n < MANY_FILES; n++) writeFileSync(path.join(place, 'many', `${n}-${'é'.repeat(110)}`), '');

  mkdirSync(path.join(place, 'taken'), { recursive: true });

  const files = `/api/workspaces/${workspace_id}/files`;
  const write = (name, content) =>
    fetch(url + files.concat('/content'), {
      method: 'PUT',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ path: name, content }),
    });
  // Two versions that have no line in common.
  for (const sign of ['a', 'b'])
    await write(
      'diff.txt',
      Array.from({ length: 600_000 }, (_, n) => `${sign}${n}`)
        .join('\n')
        .slice(0, 7 * MIB),
    );
  await write('notes/plan.md', 'teh plan');
  const sent = await post('/api/agent/message', { workspace_id, message: 'list' });
  await get(`/api/agent/status/${sent.call_id}?wait=30`);
  const account = await post('/api/service-accounts', { organization_id, name: 'Bot', role: 'member' });
  const accountKey = await post(`/api/service-accounts/${account.id}/keys`, { name: 'CI' });
  const key = await post('/api/keys', { name: 'CI' });
  const invitation = await post(`/api/organizations/${organization_id}/invitations`, {
    email: 'new@example.com',
  });
  const shared = await post('/api/share', { workspace_id, path: 'notes/plan.md' });
  const folder = await post('/api/share', { workspace_id, path: '', allow: 'download' });
  const upload = await post('/api/share', { workspace_id, path: 'taken', allow: 'upload' });
  const fileInvitation = await post('/api/file-invitations', {
    workspace_id,
    path: 'notes/plan.md',
    email: 'new@example.com',
  });
  await write(
    'automations/hooked.md',
    '---\non:\n  - webhook: { filter: { body.wanted: true } }\n---\nGo.\n',
  );
  const hooked = await post('/api/automation/deployments', {
    workspace_id,
    file_path: 'automations/hooked.md',
  });
  const duplicate = await post(`/api/workspaces/${workspace_id}/duplicate`, { name: 'Copy' });
  const run = await post('/api/actions/file_list/run', { workspace_id, input: { path: 'notes' } });
  const versions = await get(`${files}/history?path=diff.txt`);
  const sessions = await get('/api/auth/sessions');
  const me = await get('/api/auth/me');
  const { items: actions } = await get('/api/actions?limit=200');
  const { items: tools } = await get(`/api/workspaces/${workspace_id}/tools`);
  return {
    url,
    headers,
    signIn,
    workspace: workspace_id,
    newWorkspace: async () => (await post('/api/workspaces', { name: 'More', organization_id })).id,
    hook: pageOf(hooked.secrets[0]),
    pages: { folder: pageOf(folder), upload: pageOf(upload), file: pageOf(shared) },
    actions: await Promise.all(actions.map(({ name }) => get(`/api/actions/${name}`))),
    tools,
    versions: versions.items.map(({ id }) => id),
    ids: {
      workspaceId: workspace_id,
      workspace_id,
      organization_id,
      orgId: organization_id,
      callId: sent.call_id,
      call_id: sent.call_id,
      messageId: sent.message_id,
      chat_id: sent.chat_id,
      chats: sent.chat_id,
      keys: key.id,
      keyId: accountKey.id,
      userId: me.id,
      version: versions.items[0].id,
      'service-accounts': account.id,
      invitations: invitation.id,
      share: shared.id,
      'file-invitations': fileInvitation.id,
      operations: duplicate.operation_id,
      'action-runs': run.run_id,
      auth: sessions.items[0].id,
      toolName: 'list_files',
      name: 'file_list',
    },
  };
}

const pageOf = ({ url }) => new URL(url).pathname;

/** Files that are hard on whatever looks into them. */
const FILES = () => ({
  'large.txt': `${'a'.repeat(99)}\n`.repeat(150_000),
  'one-line.txt': 'a'.repeat(15 * MIB),
  'pairs.txt': 'ab'.repeat(7 * MIB),
  'short-lines.txt': '\n'.repeat(15 * MIB),
  'wide.txt': 'é😀'.repeat(2 * MIB),
  'shown/brackets.md': '!['.repeat(195_000),
  'shown/table.csv': `${','.repeat(300)}\n`.repeat(1200),
  'shown/code.ts': '<'.repeat(390_000),
  '.agents/wide.md': `---\ndescription: ${'a'.repeat(7000)}\n---\n${'{{a}}'.repeat(50_000)}\n`,
});
