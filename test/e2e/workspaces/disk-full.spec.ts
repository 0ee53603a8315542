import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Automations } from '../../harness/automations.js';
import { TestService } from '../../harness/service.js';

const SIZE = 3 * 1024 * 1024;

let service: TestService;
let disk: string;
let isMounted = false;
const mounted: string[] = [];

/** A disk of its own for a folder of the service's data. */
function mountAt(folder: string, bytes: number): void {
  mkdirSync(folder, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=755`, 'tmpfs', folder], {
    stdio: 'ignore',
  });
  mounted.push(folder);
}

/** Fills it to the last byte. */
function fill(folder: string): string {
  const file = path.join(folder, 'filler');
  try {
    for (;;) appendFileSync(file, Buffer.alloc(4096));
  } catch {
    return file;
  }
}

beforeAll(async () => {
  service = await TestService.start();
  disk = path.join(service.dataDir, 'workspaces');
  try {
    mountAt(disk, SIZE);
    isMounted = true;
  } catch {
    process.stderr.write('Disks cannot be mounted here: what happens when one is full is not tested\n');
  }
});
afterAll(async () => {
  for (const folder of mounted) execFileSync('umount', ['-l', folder]);
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

it('runs no command whose beginning cannot be kept, invents no changes, and goes on when there is room', async () => {
  if (!isMounted) return;
  const ada = await service.person();
  const workspace = await service.workspace(ada);
  for (let n = 0; n < 100; n++) writeFileSync(path.join(disk, workspace, `${n}-${'x'.repeat(200)}`), '');
  const scans = path.join(service.dataDir, 'scans');
  mountAt(scans, 64 * 1024);
  const filler = fill(scans);
  const bash = () =>
    ada.client.post(`/api/workspaces/${workspace}/tools/bash`, { input: { command: 'echo x > made' } });
  const refused = await bash();
  expect(JSON.stringify(refused.body)).toContain('is full');
  expect(refused.body.is_error ?? refused.status === 507).toBe(true);
  const changes = () =>
    service.database.query('select path from workspace_change where workspace_id = $1', [workspace]);
  expect(await changes()).toEqual([]);
  rmSync(filler);
  expect((await bash()).body).toMatchObject({ is_error: false });
  expect(await changes()).toEqual([{ path: 'made' }]);
});

it('says that the history has no room, and has all of it when there is', async () => {
  if (!isMounted) return;
  const ada = await service.person();
  const workspace = await service.workspace(ada);
  const history = path.join(service.dataDir, 'history');
  mountAt(history, 1024 * 1024);
  const filler = fill(history);
  const file = { path: 'a', content: 'x' };
  expect((await ada.client.put(`/api/workspaces/${workspace}/files/content`, file)).status).toBe(200);
  const read = () => ada.client.get(`/api/workspaces/${workspace}/files/history?path=a`);
  expect(await read()).toMatchObject({ status: 507, body: { detail: expect.stringContaining('is full') } });
  rmSync(filler);
  expect((await read()).body.items).toHaveLength(1);
});

it('puts an automation off whose script cannot begin, and runs it once when there is room', async () => {
  if (!isMounted) return;
  const ada = await service.person();
  const own = new Automations(ada.client, await service.workspace(ada));
  const code = 'echo once >> made.txt';
  const { id, secrets } = await own.deploy(await own.script('made', code, 'on:\n  - webhook: {}\n'));
  for (let n = 0; n < 100; n++)
    writeFileSync(path.join(disk, own.workspaceId, `${n}-${'x'.repeat(200)}`), '');
  const scans = path.join(service.dataDir, 'scans');
  if (!mounted.includes(scans)) mountAt(scans, 64 * 1024);
  const filler = fill(scans);
  const sent = await fetch(service.url + new URL(secrets[0].url).pathname, { method: 'POST', body: '{}' });
  const { run_id } = (await sent.json()) as { run_id: string };
  expect([sent.status, typeof run_id]).toEqual([200, 'string']);
  const putOff = () =>
    service.database.query(
      "select 1 from automation_run where id = $1 and state = 'queued' and not_before is not null",
      [run_id],
    );
  while ((await putOff()).length === 0) await sleep(50);
  rmSync(filler);
  const run = await own.ended({ run_id });
  expect(run).toMatchObject({ status: 'completed', attempt: 1, tries: [] });
  expect(await own.fileText('made.txt')).toBe('once\n');
  expect(await own.deployment(id)).toMatchObject({ state: 'live', failures_in_row: 0 });
});
