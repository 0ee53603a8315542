import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Toolbox } from '../../../src/agents/tools/index.js';
import type { Actor } from '../../../src/platform/access/index.js';
import { NumberedChangesStore, Scans } from '../../../src/workspaces/changes/index.js';
import { SandboxesService } from '../../../src/workspaces/sandboxes/index.js';
import { ServiceProcess } from '../../faults/service-process.js';
import { AgentClient } from '../../harness/agent.js';
import { Client, type Json, type StreamEvent } from '../../harness/client.js';
import { folderBecomes } from '../../harness/folder.js';
import { freePort } from '../../harness/free-port.js';
import { keepingOpen } from '../../harness/open-changes.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let toolbox: Toolbox;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  toolbox = service.app.get(Toolbox, { strict: false });
});
afterAll(async () => {
  // The client opens a connection in place of that of a stream it left; one that is never used would hold up the stop.
  const http = service.app.getHttpServer();
  http.on('connection', (socket: Socket) => socket.destroy());
  http.closeAllConnections();
  await service.stop();
});

const files = (workspace: string) => `/api/workspaces/${workspace}/files`;
const folderOf = (workspace: string) => path.join(service.dataDir, 'workspaces', workspace);
const write = (workspace: string, at: string, content: string, client: Client = ada.client) =>
  client.put(`${files(workspace)}/content`, { path: at, content });

/** The events of a workspace after number `after`, up to the first that is looked for. */
const watch = (
  workspace: string,
  until: (event: StreamEvent) => boolean,
  after?: number,
  client = ada.client,
) =>
  client.events(`/api/workspaces/${workspace}/events`, {
    until,
    headers: after === undefined ? {} : { 'last-event-id': String(after) },
  });
const isOf = (at: string) => (event: StreamEvent) => event.data.path === at;
const brief = ({ id, data }: StreamEvent) => [id, data.kind, data.path];

/** As if nothing was written for a while to what was kept open. */
const settle = (workspace: string) =>
  service.database.query(
    `update workspace_change set created_at = now() - interval '2 seconds' where workspace_id = $1 and id is null`,
    [workspace],
  );

function actorOf({ id, email }: Person): Actor {
  const limits = { scopes: null, organization_id: null, workspace_ids: null, expires_at: null };
  return { type: 'user', id, name: 'Test', email, credential: { type: 'session', id, ...limits } };
}
const bash = (workspace: string, command: string, runId?: string) =>
  toolbox.run(
    { actor: actorOf(ada), workspaceId: workspace, runId, signal: new AbortController().signal },
    'bash',
    { command },
  );

describe('what callers write', () => {
  it('is in one order, with who wrote, and ids that rise by one', async () => {
    const workspace = await service.workspace(ada);
    let entry: Json;
    await keepingOpen(service, async () => {
      ({ body: entry } = await write(workspace, 'a.txt', 'one'));
      await write(workspace, 'b.txt', 'two');
      await ada.client.post(`${files(workspace)}/move`, { from: 'b.txt', to: 'c.txt' });
      await ada.client.post(`${files(workspace)}/copy`, { from: 'c.txt', to: 'dir/d.txt' });
      await ada.client.post(`${files(workspace)}/mkdir`, { path: 'empty' });
      await ada.client.post(`${files(workspace)}/mkdir`, { path: 'empty' });
      await ada.client.delete(`${files(workspace)}?path=dir&recursive=true`);
    });
    await settle(workspace);
    await write(workspace, 'end', '');
    const events = await watch(workspace, isOf('end'));
    expect(events.map(brief)).toEqual([
      [1, 'created', 'a.txt'],
      [2, 'created', 'b.txt'],
      [3, 'moved', 'c.txt'],
      [4, 'deleted', 'dir/d.txt'],
      [5, 'created', 'empty'],
      [6, 'deleted', 'dir'],
      [7, 'created', 'end'],
    ]);
    expect(events[0]).toMatchObject({
      event: 'file.changed',
      data: { size: 3, etag: entry.etag, from: null, run_id: null, writer: { type: 'user', id: ada.id } },
    });
    expect(events[2]?.data).toMatchObject({ from: 'b.txt', size: 3 });
  });

  it('is one change where one writer writes to one path within a second, and goes on after any number', async () => {
    const workspace = await service.workspace(ada);
    const key = await service.key(ada);
    await keepingOpen(service, async () => {
      for (const content of ['1', '12', '123', '1234']) await write(workspace, 'a.txt', content, key);
    });
    await settle(workspace);
    await write(workspace, 'end', '');
    const events = await watch(workspace, isOf('end'));
    expect(events.map(brief)).toEqual([
      [1, 'created', 'a.txt'],
      [2, 'created', 'end'],
    ]);
    expect(events[0]?.data.size).toBe(4);
    await write(workspace, 'a.txt', '12345');
    await write(workspace, 'later', '');
    const more = await watch(workspace, isOf('later'), 2);
    expect(more.map(brief)).toEqual([
      [3, 'modified', 'a.txt'],
      [4, 'created', 'later'],
    ]);
  });

  it('reaches watchers as it happens, and those who may not see it never', async () => {
    const workspace = await service.workspace(ada, { visibility: 'private' });
    const stranger = await service.person('Eve');
    expect(await stranger.client.get(`/api/workspaces/${workspace}/events`)).toMatchObject({ status: 404 });
    const watching = watch(workspace, isOf('z'));
    for (const name of ['x', 'y', 'z']) await write(workspace, name, name);
    expect((await watching).map(brief)).toEqual([
      [1, 'created', 'x'],
      [2, 'created', 'y'],
      [3, 'created', 'z'],
    ]);
  });
});

it('ends for a watcher who is let in no more, also where nothing happens', async () => {
  const workspace = await service.workspace(ada, { visibility: 'restricted' });
  const bob = await service.person('Bob');
  const organization = ada.organizationId;
  await service.join(bob, { organization, role: 'guest', workspace, workspaceRole: 'viewer' });
  await write(workspace, 'a', 'a');
  const seen: string[] = [];
  const watching = bob.client.events(`/api/workspaces/${workspace}/events`, {
    headers: { 'last-event-id': '0' },
    until: ({ data }) => seen.push(data.path) > 1,
  });
  while (seen.length === 0) await sleep(20);
  const removed = await ada.client.delete(`/api/organizations/${organization}/members/${bob.id}`);
  expect(removed.status).toBe(200);
  await watching;
  await write(workspace, 'b', 'b');
  expect(seen).toEqual(['a']);
});

describe('what is older than is kept', () => {
  it('is forgotten, and streams that wanted it are told', async () => {
    const workspace = await service.workspace(ada);
    for (const name of ['a', 'b', 'c']) await write(workspace, name, name);
    await service.database.query(
      "update workspace_change set created_at = now() - interval '31 days' where workspace_id = $1 and path <> 'c'",
      [workspace],
    );
    await service.app.get(NumberedChangesStore, { strict: false }).prune();
    const events = await watch(workspace, isOf('c'), 1);
    expect(events).toMatchObject([
      { id: 2, event: 'reset', data: { pruned_through: 2 } },
      { id: 3, event: 'file.changed', data: { path: 'c' } },
    ]);
    expect((await watch(workspace, isOf('c'), 2)).map(({ id }) => id)).toEqual([3]);
  });
});

describe('what a sandbox writes', () => {
  it('is found by comparison: made, changed, moved, removed', async () => {
    const workspace = await service.workspace(ada);
    for (const name of ['keep', 'change', 'remove', 'move']) await write(workspace, name, name);
    const { changed } = await bash(
      workspace,
      'echo new > new; echo more >> change; rm remove; mv move "mövéd ä"; mkdir sub; ln -s /etc/passwd link; mkfifo pipe',
    );
    expect([...(changed ?? [])].sort()).toEqual(['change', 'link', 'mövéd ä', 'new', 'remove', 'sub']);
    await write(workspace, 'end', '');
    const events = (await watch(workspace, isOf('end'))).filter(({ data }) => data.writer.type === 'sandbox');
    expect(events.map(({ data }) => [data.kind, data.path]).sort()).toEqual([
      ['created', 'link'],
      ['created', 'new'],
      ['created', 'sub'],
      ['deleted', 'remove'],
      ['modified', 'change'],
      ['moved', 'mövéd ä'],
    ]);
    const { body: entry } = await ada.client.get(`${files(workspace)}/stat?path=change`);
    const change = events.find(({ data }) => data.path === 'change');
    expect(change?.data).toMatchObject({
      size: 11,
      etag: entry.etag,
      writer: { type: 'sandbox', id: ada.id },
    });
    expect(events.find(({ data }) => data.kind === 'moved')?.data).toMatchObject({ from: 'move' });
  });

  it('is the run’s where a run wrote it, also with the file tools', async () => {
    const workspace = await service.workspace(ada);
    const agent = new AgentClient(ada.client);
    const run = await agent.run('write tool.txt: Hello\nrun echo shell > shell.txt', {
      workspace_id: workspace,
    });
    expect(run.status).toBe('completed');
    await write(workspace, 'end', '');
    const events = await watch(workspace, isOf('end'));
    const writer = { type: 'run', id: run.call_id };
    expect(events.slice(0, 2).map(({ data }) => [data.path, data.writer, data.run_id])).toEqual([
      ['tool.txt', writer, run.call_id],
      ['shell.txt', writer, run.call_id],
    ]);
  });

  it('is not what a person wrote while the command ran', async () => {
    const workspace = await service.workspace(ada);
    let begun = () => {};
    const started = new Promise<void>(resolve => {
      begun = resolve;
    });
    const running = toolbox.run(
      { actor: actorOf(ada), workspaceId: workspace, signal: new AbortController().signal, onOutput: begun },
      'bash',
      { command: 'echo begun; until [ -e go ]; do sleep 0.05; done; echo mine > mine' },
    );
    await started;
    await write(workspace, 'hers', 'hers');
    await write(workspace, 'go', '');
    expect(await running).toMatchObject({ isError: false, changed: ['mine'] });
  });

  it('is not what went into an older change while the command ran; a mode is', async () => {
    const workspace = await service.workspace(ada);
    await write(workspace, 'melting', 'one');
    await write(workspace, 'script', 'true');
    const scans = service.app.get(Scans, { strict: false });
    const scan = await scans.begin(workspace, { type: 'sandbox', id: ada.id }, 60);
    // As if all of this took less than a second.
    await service.database.query(
      `update workspace_change set created_at = now() + interval '1 minute', captured = false where workspace_id = $1`,
      [workspace],
    );
    await write(workspace, 'melting', 'two, longer');
    chmodSync(path.join(folderOf(workspace), 'script'), 0o755);
    const { changes } = await scans.settle(scan);
    expect(changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual(['modified script']);
  });

  it('is found in a large tree at little cost', async () => {
    const workspace = await service.workspace(ada);
    for (let folder = 0; folder < 100; folder++) {
      mkdirSync(path.join(folderOf(workspace), `d${folder}`));
      for (let file = 0; file < 100; file++)
        writeFileSync(path.join(folderOf(workspace), `d${folder}`, `f${file}`), '');
    }
    const { changed } = await bash(workspace, 'echo x > here');
    expect(changed).toEqual(['here']);
  });
});

describe('what goes on in a sandbox after its command', () => {
  const runId = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e90';
  const shellOf = (workspace: string) => {
    const shell = service.app.get(SandboxesService, { strict: false }).openShell({
      caller: { kind: 'run', id: runId },
    });
    const run = (command: string) => {
      const context = { actor: actorOf(ada), workspaceId: workspace, runId, shell };
      return toolbox.run({ ...context, signal: new AbortController().signal }, 'bash', { command });
    };
    return { shell, run };
  };
  const onceThere = (file: string, command: string) =>
    `(until [ -e ${file} ]; do sleep 0.05; done; ${command}) &`;
  const scansOf = (workspace: string) =>
    service.database.query('select 1 from workspace_scan where workspace_id = $1', [workspace]);
  const loggedOf = async (workspace: string) =>
    (
      await service.database.query(
        `select kind, path from workspace_change where workspace_id = $1 and run_id = $2 order by seq`,
        [workspace, runId],
      )
    ).map(({ kind, path }) => `${kind} ${path}`);

  it('is in the log soon, also in new folders, with the run as its writer', async () => {
    const workspace = await service.workspace(ada);
    const { shell, run } = shellOf(workspace);
    const later = onceThere('go/deep', 'echo late >go/deep/late');
    expect(await run(`${onceThere('go', 'mkdir go/deep')} ${later} echo begun`)).toMatchObject({
      output: 'begun',
    });
    await ada.client.post(`${files(workspace)}/mkdir`, { path: 'go' });
    const events = await watch(workspace, isOf('go/deep/late'));
    expect(events.at(-1)?.data).toMatchObject({
      kind: 'created',
      size: 5,
      run_id: runId,
      writer: { type: 'run', id: runId },
    });
    await shell.end();
    expect(await scansOf(workspace)).toEqual([]);
  });

  it('is in the log when the next command begins, and when the sandbox has ended', async () => {
    const workspace = await service.workspace(ada);
    const { shell, run } = shellOf(workspace);
    await run(onceThere('one', 'echo x >first; rm one'));
    const becomes = (name: string) => folderBecomes(folderOf(workspace), names => names.includes(name));
    writeFileSync(path.join(folderOf(workspace), 'one'), '');
    await becomes('first');
    expect(await run(`${onceThere('two', 'echo x >second')} echo x >own`)).toMatchObject({
      changed: expect.arrayContaining(['own']),
    });
    expect(await loggedOf(workspace)).toEqual(expect.arrayContaining(['created first', 'created own']));
    writeFileSync(path.join(folderOf(workspace), 'two'), '');
    await becomes('second');
    await shell.end();
    expect(await loggedOf(workspace)).toEqual(expect.arrayContaining(['created second']));
    expect(await scansOf(workspace)).toEqual([]);
  });

  it('is covered once where commands were called at the same time', async () => {
    const workspace = await service.workspace(ada);
    const { shell, run } = shellOf(workspace);
    await Promise.all(['a', 'b', 'c'].map(name => run(`sleep 600 & echo x >${name}`)));
    await shell.end();
    expect(await scansOf(workspace)).toEqual([]);
    // On a slow machine, one may see the file of another before it has its content.
    expect(new Set(await loggedOf(workspace))).toEqual(new Set(['created a', 'created b', 'created c']));
  });

  it('is left to others where nothing goes on', async () => {
    const workspace = await service.workspace(ada);
    const { shell, run } = shellOf(workspace);
    await run('echo x >own');
    expect(await scansOf(workspace)).toEqual([]);
    await shell.end();
  });
});

describe('a service that dies', () => {
  it('loses nothing that was written through it', async () => {
    const workspace = await service.workspace(ada);
    const key = await service.key(ada);
    await write(workspace, 'before', '');
    const port = String(await freePort());
    const first = await ServiceProcess.start(service, { PORT: port });
    const there = new Client(`http://127.0.0.1:${port}`, key.headers);
    await write(workspace, 'api.txt', 'x', there);
    await first.kill();
    const events = await watch(workspace, isOf('api.txt'), 1);
    expect(events.map(brief)).toEqual([[2, 'created', 'api.txt']]);
  });

  it('has its command’s changes found by the next process', async () => {
    const workspace = await service.workspace(ada);
    await write(workspace, 'gone', 'x');
    const [{ max }] = (await service.database.query('select max(seq) from workspace_change')) as [
      { max: string },
    ];
    let begun = () => {};
    const started = new Promise<void>(resolve => {
      begun = resolve;
    });
    // What a process leaves behind that is killed while its command runs: the first half of the comparison.
    const running = toolbox.run(
      { actor: actorOf(ada), workspaceId: workspace, signal: new AbortController().signal, onOutput: begun },
      'bash',
      { command: 'echo begun; until [ -e go ]; do sleep 0.05; done; echo late > late; rm gone' },
    );
    await started;
    const [name = ''] = readdirSync(path.join(service.dataDir, 'scans'));
    const before = readFileSync(path.join(service.dataDir, 'scans', name));
    await write(workspace, 'go', '');
    await running;
    await service.database.query('delete from workspace_change where seq > $1 and path <> $2', [max, 'go']);
    const lost = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';
    writeFileSync(path.join(service.dataDir, 'scans', lost), before);
    await service.database.query(
      `insert into workspace_scan (id, workspace_id, writer_type, writer_id, run_id, holder, from_seq, started_at, deadline)
       values ($1, $2, 'sandbox', $3, null, gen_random_uuid(), $4, now(), now() + interval '1 hour')`,
      [lost, workspace, ada.id, max],
    );
    const next = await ServiceProcess.start(service, { ROLE: 'worker' });
    await next.stop();
    await write(workspace, 'end', '');
    const events = await watch(workspace, isOf('end'));
    const found = events
      .filter(({ data }) => data.writer.type === 'sandbox')
      .map(({ data }) => [data.kind, data.path]);
    expect(found.sort()).toEqual([
      ['created', 'late'],
      ['deleted', 'gone'],
    ]);
    expect(readdirSync(path.join(service.dataDir, 'scans'))).toEqual([]);
  });
});
