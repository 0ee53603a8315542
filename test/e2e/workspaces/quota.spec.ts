import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { Snapshot } from '../../../libs/workspace-fs/index.js';
import { ChangeLogStore, WorkspaceQuota } from '../../../src/workspaces/changes/index.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

const MAX_FILES = 100;

let service: TestService;
let ada: Person;

beforeAll(async () => {
  service = await TestService.start({ WORKSPACE_LIMITS: `files=${MAX_FILES}` });
  ada = await service.person();
});
afterAll(() => service.stop());
afterEach(() => {
  jest.restoreAllMocks();
});

const write = async (workspace: string, at: string): Promise<number> =>
  (await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: at, content: 'x' })).status;

/** A workspace with `count` files that came behind the service's back, measured. */
async function filled(count: number): Promise<string> {
  const workspace = await service.workspace(ada);
  const folder = path.join(service.dataDir, 'workspaces', workspace);
  mkdirSync(folder, { recursive: true });
  for (let n = 0; n < count; n++) writeFileSync(path.join(folder, `there${n}`), '');
  expect(await write(workspace, 'first')).toBe(200);
  return workspace;
}

/** What another process does: the log has it, this process does not know of it. */
const logElsewhere = (workspace: string, count: number): Promise<Json[]> =>
  service.database.query(
    `insert into workspace_change (workspace_id, path, kind, size, etag, writer_type, writer_id, created_at, changed_at)
     select $1, 'other' || n, 'created', 1, 'x', 'user', 'other', now(), now() from generate_series(1, $2::int) n`,
    [workspace, count],
  );

it('counts writes to a workspace that is more than half full without measuring it again', async () => {
  const workspace = await filled(60);
  const taken = jest.spyOn(Snapshot, 'take');
  for (let n = 0; n < 20; n++) expect(await write(workspace, `f${n}`)).toBe(200);
  expect(measurementsOf(workspace, taken)).toBe(0);
});

/** Those of others go on from earlier tests. */
const measurementsOf = (workspace: string, { mock }: { mock: { calls: unknown[][] } }): number =>
  mock.calls.filter(([root]) => String(root).includes(workspace)).length;

it('measures an old count again beside the write, not before it', async () => {
  const workspace = await filled(60);
  service.app.get(WorkspaceQuota, { strict: false }).expire(workspace);
  let go = () => {};
  const gate = new Promise<void>(resolve => {
    go = resolve;
  });
  const take = Snapshot.take;
  const taken = jest.spyOn(Snapshot, 'take').mockImplementation(async (...given) => {
    await gate;
    return take.apply(Snapshot, given);
  });
  expect(await write(workspace, 'f')).toBe(200);
  expect(await write(workspace, 'g')).toBe(200);
  expect(measurementsOf(workspace, taken)).toBe(1);
  go();
});

it('counts what others have logged, and asks the disk before it refuses', async () => {
  const workspace = await filled(60);
  await logElsewhere(workspace, 45);
  const taken = jest.spyOn(Snapshot, 'take');
  // The files are not there: the log says more than the disk, which is asked before anything is refused.
  expect(await write(workspace, 'f')).toBe(200);
  expect(measurementsOf(workspace, taken)).toBe(1);
});

it('lets in as many as there is room for, of those that come at once', async () => {
  const workspace = await filled(60);
  const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => write(workspace, `f${n}`)));
  expect(answers.filter(status => status === 200)).toHaveLength(MAX_FILES - 61);
  expect(answers.filter(status => status === 409)).toHaveLength(60 - (MAX_FILES - 61));
  expect((await ada.client.delete(`/api/workspaces/${workspace}/files?path=there1`)).status).toBeLessThan(
    300,
  );
  expect(await write(workspace, 'again')).toBe(200);
  expect(await write(workspace, 'one too many')).toBe(409);
});

it('counts a file once that is in its place and not in the log yet', async () => {
  const workspace = await filled(MAX_FILES - 3);
  const log = service.app.get(ChangeLogStore, { strict: false });
  const { record } = log;
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  jest.spyOn(log, 'record').mockImplementationOnce(async (...given) => {
    reached.resolve();
    await gate.promise;
    return record.apply(log, given);
  });
  const held = write(workspace, 'held');
  await reached.promise;
  expect(await write(workspace, 'last')).toBe(200);
  rmSync(path.join(service.dataDir, 'workspaces', workspace, 'there1'));
  // What it remembers has no room left, so it measures.
  expect(await write(workspace, 'instead of one')).toBe(200);
  expect(await write(workspace, 'one too many')).toBe(409);
  gate.resolve();
  expect(await held).toBe(200);
});

it('counts what a command made, and deleted', async () => {
  const workspace = await filled(60);
  const bash = (command: string) =>
    ada.client.post(`/api/workspaces/${workspace}/tools/bash`, { input: { command } });
  await bash('for n in $(seq 39); do echo > c$n; done');
  expect(await write(workspace, 'one too many')).toBe(409);
  await bash('rm c1');
  expect(await write(workspace, 'fits')).toBe(200);
});
