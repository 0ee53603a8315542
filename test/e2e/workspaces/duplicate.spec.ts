import { mkdirSync, readdirSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ServiceProcess } from '../../faults/service-process.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;

/** This process serves HTTP alone: who copies are workers of their own. */
beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
});
afterAll(() => service.stop());

const folderOf = (workspace: string) => path.join(service.dataDir, 'workspaces', workspace);

function fill(workspace: string, folders: number, each: number, bytes: number): void {
  for (let folder = 0; folder < folders; folder++) {
    mkdirSync(path.join(folderOf(workspace), `d${folder}`));
    for (let file = 0; file < each; file++)
      writeFileSync(path.join(folderOf(workspace), `d${folder}`, `f${file}`), Buffer.alloc(bytes, file));
  }
}
const begin = async (workspace: string, fields: Json = {}): Promise<string> => {
  const { status, body } = await ada.client.post(`/api/workspaces/${workspace}/duplicate`, {
    name: 'Copy',
    ...fields,
  });
  expect(status).toBe(200);
  return body.operation_id;
};
const toItsEnd = (operation: string) => ada.client.events(`/api/operations/${operation}/events`);
const targetOf = async (operation: string): Promise<string> => {
  const [row] = await service.database.query(
    `select input->>'target_id' as target_id from operation where id = $1`,
    [operation],
  );
  return row?.target_id;
};

it('goes on after its worker was killed, shares no inode, and is shown to others when it is complete', async () => {
  const workspace = await service.workspace(ada);
  const bob = await service.person('Bob');
  await service.join(bob, { organization: ada.organizationId, role: 'member' });
  fill(workspace, 10, 40, 20_000);
  symlinkSync('/etc/passwd', path.join(folderOf(workspace), 'link'));
  const operation = await begin(workspace);
  const target = await targetOf(operation);
  expect(await bob.client.get(`/api/workspaces/${target}`)).toMatchObject({ status: 404 });
  expect((await ada.client.get(`/api/operations/${operation}`)).body).toMatchObject({
    status: 'queued',
    result: null,
  });

  const first = await ServiceProcess.start(service, { ROLE: 'worker' });
  await ada.client.events(`/api/operations/${operation}/events`, {
    until: ({ data }) => data.status !== 'queued',
  });
  await first.kill();
  const second = await ServiceProcess.start(service, { ROLE: 'worker' });
  const last = (await toItsEnd(operation)).at(-1);
  expect(last).toMatchObject({
    event: 'operation.completed',
    data: {
      status: 'completed',
      done: 411,
      total: 411,
      bytes_done: 8_000_000,
      bytes_total: 8_000_000,
      result: { workspace_id: target },
    },
  });
  expect(last?.data.skipped).toEqual([
    'members',
    'chats and their runs',
    'share links',
    'file invitations',
    'hosts that sandboxes may connect to',
    'earlier versions of files',
    'link',
  ]);
  const [original, copy] = [workspace, target].map(id => statSync(path.join(folderOf(id), 'd9', 'f7')));
  expect([copy?.size, copy?.ino === original?.ino]).toEqual([20_000, false]);
  expect(await bob.client.get(`/api/workspaces/${target}`)).toMatchObject({
    status: 200,
    body: { visibility: 'org' },
  });
  await second.stop();
});

it('has the approval policy and the budget of the original, and not its way out', async () => {
  const workspace = await service.workspace(ada);
  const policy = { read: 'ask', write: 'deny', destructive: 'deny', deadline_seconds: 600 };
  const budget = { monthly_usd: 3, hard_stop: true, alerts: [50] };
  const set = [
    await ada.client.patch(`/api/workspaces/${workspace}/approval-policy`, policy),
    await ada.client.put(`/api/workspaces/${workspace}/budget`, budget),
    await ada.client.patch(`/api/workspaces/${workspace}/egress`, {
      mode: 'allow',
      hosts: ['example.com'],
    }),
  ];
  expect(set.map(({ status }) => status)).toEqual([200, 200, 200]);
  const copy = `/api/workspaces/${await targetOf(await begin(workspace))}`;
  expect((await ada.client.get(`${copy}/approval-policy`)).body).toMatchObject({
    ...policy,
    is_default: false,
  });
  expect((await ada.client.get(`${copy}/budget`)).body).toMatchObject({ ...budget, spent_usd: 0 });
  expect((await ada.client.get(`${copy}/egress`)).body).toMatchObject({ mode: 'none', hosts: [] });
});

it('leaves out what is in its way, and what is larger than a file may be, and comes to its end', async () => {
  const workspace = await service.workspace(ada);
  fill(workspace, 2, 3, 10);
  truncateSync(path.join(folderOf(workspace), 'd1', 'f0'), 2_000_000);
  const operation = await begin(workspace);
  const target = await targetOf(operation);
  writeFileSync(path.join(folderOf(target), 'd0'), 'in the way');
  const worker = await ServiceProcess.start(service, {
    ROLE: 'worker',
    WORKSPACE_LIMITS: 'file_bytes=1000000',
  });
  const last = (await toItsEnd(operation)).at(-1);
  expect(last).toMatchObject({ event: 'operation.completed', data: { status: 'completed', error: null } });
  expect(last?.data.skipped.slice(6)).toEqual(['d0', 'd0/f0', 'd0/f1', 'd0/f2', 'd1/f0']);
  expect(readdirSync(path.join(folderOf(target), 'd1')).sort()).toEqual(['f1', 'f2']);
  await worker.stop();
});

it('is not told any further to a watcher who is let in no more', async () => {
  const workspace = await service.workspace(ada);
  const bob = await service.person('Bob');
  const organization = ada.organizationId;
  await service.join(bob, { organization, role: 'member' });
  const operation = await begin(workspace);
  const url = `/api/operations/${operation}/events`;
  const begun = Promise.withResolvers<void>();
  const seen: Json[] = [];
  const watching = bob.client.events(url, {
    headers: { 'last-event-id': '0' },
    until: ({ data }) => {
      seen.push(data);
      begun.resolve();
      return false;
    },
  });
  await begun.promise;
  const removed = await ada.client.delete(`/api/organizations/${organization}/members/${bob.id}`);
  expect(removed.status).toBe(200);
  await service.database.query(
    `update operation set version = version + 1, state = 'running', progress = '{"skipped":["kept/from-bob"]}'
     where id = $1`,
    [operation],
  );
  await service.database.query(`select pg_notify('atelier', $1)`, [`operation:${operation}`]);
  await ada.client.events(url, { until: ({ data }) => data.skipped.includes('kept/from-bob') });
  await watching;
  expect(seen.map(({ skipped }) => skipped)).toEqual([[]]);
  expect((await ada.client.post(`/api/operations/${operation}/cancel`)).status).toBe(200);
});

it('is removed when it is cancelled, by who began it alone', async () => {
  const workspace = await service.workspace(ada);
  const bob = await service.person('Bob');
  await service.join(bob, { organization: ada.organizationId, role: 'member' });
  fill(workspace, 1, 5, 10);
  const operation = await begin(workspace);
  const target = await targetOf(operation);
  expect(await bob.client.post(`/api/operations/${operation}/cancel`)).toMatchObject({ status: 403 });
  expect(await ada.client.post(`/api/operations/${operation}/cancel`)).toMatchObject({ status: 200 });
  const worker = await ServiceProcess.start(service, { ROLE: 'worker' });
  const last = (await toItsEnd(operation)).at(-1);
  expect(last).toMatchObject({ event: 'operation.cancelled', data: { status: 'cancelled', result: null } });
  expect(await ada.client.get(`/api/workspaces/${target}`)).toMatchObject({ status: 404 });
  await worker.stop();
});

it('is refused where an organization has as many under way as may be, until one is over', async () => {
  const workspace = await service.workspace(ada);
  const bob = await service.person('Bob');
  const first = await begin(workspace);
  await service.database.query(
    `insert into operation (id, kind, state, actor_id, organization_id, subject_id, input, created_at)
     select gen_random_uuid(), kind, 'queued', actor_id, organization_id, subject_id, input, created_at
     from operation, generate_series(1, 100 - (
       select count(*)::int from operation where organization_id = $2 and state in ('queued', 'running')))
     where id = $1`,
    [first, ada.organizationId],
  );
  const refused = await ada.client.post(`/api/workspaces/${workspace}/duplicate`, { name: 'Copy' });
  expect([refused.status, refused.body.detail]).toEqual([
    429,
    expect.stringContaining('100 copies of this organization are under way or wait'),
  ]);
  const elsewhere = await service.workspace(bob);
  expect(await bob.client.post(`/api/workspaces/${elsewhere}/duplicate`, { name: 'Copy' })).toMatchObject({
    status: 200,
  });
  await service.database.query(`update operation set state = 'error' where id = $1`, [first]);
  await begin(workspace);
});
