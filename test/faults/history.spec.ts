import { mkdirSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { folderBecomes } from '../harness/folder.js';
import { type Person, TestService } from '../harness/service.js';
import { ServiceProcess } from './service-process.js';

const FILES = 1500;

let service: TestService;
let ada: Person;

/** This process serves HTTP alone: who writes the history in the background are workers of their own. */
beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
});
afterAll(() => service.stop());

const command = (workspace: string, text: string) =>
  ada.client.post(`/api/workspaces/${workspace}/tools/bash`, { input: { command: text } });
const count = async (workspace: string, condition: string): Promise<number> => {
  const [row] = await service.database.query<{ n: number }>(
    `select count(*)::int as n from file_version where workspace_id = $1 and ${condition}`,
    [workspace],
  );
  return row?.n ?? -1;
};

/** Resolves when a folder is there, of which each parent is watched in turn. */
async function appears(root: string, ...names: string[]): Promise<string> {
  let at = root;
  for (const name of names) {
    await folderBecomes(at, entries => entries.includes(name));
    at = path.join(at, name);
  }
  return at;
}

/** Resolves when git begins to write a pack, however soon that is over. */
async function packBegins(folder: string): Promise<void> {
  for await (const { filename } of watch(folder)) if (filename?.startsWith('tmp_pack_')) return;
}

it('is caught up after workers were killed while git wrote, twice by none', async () => {
  const workspace = await service.workspace(ada);
  const root = path.join(service.dataDir, 'history');
  mkdirSync(root, { recursive: true });
  const packs = path.join(root, workspace, 'git', 'objects', 'pack');
  const moments = [
    () => appears(root, workspace),
    () => appears(root, workspace, 'git', 'objects', 'pack'),
    () => packBegins(packs),
  ];
  for (const [round, moment] of moments.entries()) {
    await command(
      workspace,
      `mkdir d${round}; for n in $(seq ${FILES}); do echo d${round}/f$n >d${round}/f$n; done`,
    );
    const reached = moment();
    const worker = await ServiceProcess.start(service, { ROLE: 'worker' });
    await reached;
    await worker.kill();
  }
  const workers = await Promise.all([1, 2].map(() => ServiceProcess.start(service, { ROLE: 'worker' })));
  const { status, body } = await ada.client.get(`/api/workspaces/${workspace}/files/history?limit=1`);
  expect(status).toBe(200);
  expect(await count(workspace, 'blob is not null')).toBe(moments.length * FILES);
  const content = await ada.client.get(`/api/workspaces/${workspace}/files/history/${body.items[0].id}`);
  expect(content.body.content).toBe(`${body.items[0].path}\n`);
  const [pending] = await service.database.query(
    'select 1 from workspace_change where workspace_id = $1 and not captured',
    [workspace],
  );
  expect(pending).toBeUndefined();
  for (const worker of workers) expect(await worker.stop()).toBe(0);
});
