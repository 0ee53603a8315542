import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { TestService } from '../harness/service.js';

const SIZE = 3 * 1024 * 1024;

let service: TestService;
let disk: string;
let isMounted = false;

beforeAll(async () => {
  service = await TestService.start();
  disk = path.join(service.dataDir, 'workspaces');
  mkdirSync(disk, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=755`, 'tmpfs', disk], { stdio: 'ignore' });
    isMounted = true;
  } catch {
    process.stderr.write('Disks cannot be mounted here: what happens when one is full is not tested\n');
  }
});
afterAll(async () => {
  if (isMounted) execFileSync('umount', ['-l', disk]);
  await service.stop();
});

it('says which disk is full, leaves nothing half written, and is ready again when there is room', async () => {
  if (!isMounted) return;
  const ada = await service.person();
  const workspace = await service.workspace(ada);
  const put = (name: string, bytes: number) =>
    ada.client.raw('PUT', `/api/workspaces/${workspace}/files/upload?path=${name}`, {
      body: new Uint8Array(bytes),
    });
  const ready = () => service.stranger.get('/api/health/ready');
  expect((await put('kept', 1_000_000)).status).toBe(200);
  expect((await ready()).status).toBe(200);
  const refused = await put('too/much', SIZE);
  expect([refused.status, await refused.json()]).toEqual([
    507,
    { detail: 'The disk of the workspaces is full, and nothing was written; free some space there' },
  ]);
  expect(readdirSync(path.join(disk, workspace))).toEqual(['kept']);
  expect((await put('more', 1_500_000)).status).toBe(200);
  expect(await ready()).toMatchObject({
    status: 503,
    body: { detail: 'The disk of the workspaces is full; free some space there' },
  });
  rmSync(path.join(disk, workspace, 'more'));
  expect((await ready()).status).toBe(200);
});
