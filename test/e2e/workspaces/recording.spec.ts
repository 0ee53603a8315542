import { existsSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { withQueryDeadline } from '#libs/resilient-postgres/index.js';
import { Snapshot, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Toolbox } from '../../../src/agents/tools/index.js';
import type { Actor } from '../../../src/platform/access/index.js';
import {
  ChangeLogStore,
  NumberedChangesStore,
  Scans,
  WriteIntentsStore,
} from '../../../src/workspaces/changes/index.js';
import { SandboxesService } from '../../../src/workspaces/sandboxes/index.js';
import type { Json } from '../../harness/client.js';
import { folderBecomes } from '../../harness/folder.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;

beforeAll(async () => {
  // Nothing is done in the background, which would count as the cost of a command.
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
});
afterAll(async () => {
  await close();
  await service.database.drop();
  rmSync(service.dataDir, { recursive: true, force: true });
});
afterEach(() => {
  jest.restoreAllMocks();
});

let closing: Promise<void> | undefined;
function close(): Promise<void> {
  closing ??= service.app.close();
  return closing;
}

const folderOf = (workspace: string) => path.join(service.dataDir, 'workspaces', workspace);
const bash = (workspace: string, command: string) =>
  ada.client.post(`/api/workspaces/${workspace}/tools/bash`, { input: { command } });
const logOf = async (workspace: string): Promise<string[]> => {
  const query = 'select path from workspace_change where workspace_id = $1 order by seq';
  return (await service.database.query<Json>(query, [workspace])).map(row => row.path);
};
function actor(): Actor {
  const limits = { scopes: null, organization_id: null, workspace_ids: null, expires_at: null };
  const { id, email } = ada;
  return { type: 'user', id, name: 'Test', email, credential: { type: 'session', id, ...limits } };
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(100);
}

/** Whether a statement that adds to the log has been waiting for a lock for so many seconds. */
async function waits(seconds: number): Promise<boolean> {
  const rows = await service.database.query(
    `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and query like '%workspace_change%' and query_start < clock_timestamp() - $1 * interval '1 second'`,
    [seconds],
  );
  return rows.length > 0;
}

describe('recording what a command did', () => {
  it('has more time than a query of a request', async () => {
    const workspace = await service.workspace(ada);
    const context = { actor: actor(), workspaceId: workspace, signal: new AbortController().signal };
    const command = 'touch begun; until [ -e go ]; do sleep 0.05; done; echo x > made';
    const tools = service.app.get(Toolbox, { strict: false });
    const running = withQueryDeadline(4000, () => tools.run(context, 'bash', { command }));
    const blocker = new pg.Client({ connectionString: service.database.url });
    await blocker.connect();
    try {
      await folderBecomes(folderOf(workspace), names => names.includes('begun'));
      await blocker.query('begin');
      // What is recorded is of a workspace that is there.
      await blocker.query('select from workspace where id = $1 for update', [workspace]);
      writeFileSync(path.join(folderOf(workspace), 'go'), '');
      await until(() => waits(6));
      await blocker.query('commit');
    } finally {
      await blocker.end();
    }
    expect(await running).toMatchObject({ isError: false });
    expect((await logOf(workspace)).sort()).toEqual(['begun', 'go', 'made']);
  });

  it('is made up for where the database was away at its end', async () => {
    const workspace = await service.workspace(ada);
    const changes = service.app.get(ChangeLogStore, { strict: false });
    const away = Object.assign(new Error('the database is shutting down'), { code: '57P01' });
    jest.spyOn(changes, 'record').mockRejectedValueOnce(away);
    expect((await bash(workspace, 'echo x > made')).status).toBe(503);
    await until(async () => (await logOf(workspace)).length > 0);
    expect(await logOf(workspace)).toEqual(['made']);
  });

  it('leaves out what somebody recorded while its beginning was looked at', async () => {
    const workspace = await service.workspace(ada);
    const scans = service.app.get(Scans, { strict: false });
    const save = Snapshot.save.bind(Snapshot);
    jest.spyOn(Snapshot, 'save').mockImplementationOnce(async (root, file) => {
      await save(root, file);
      await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: 'hers', content: 'x' });
    });
    const scan = await scans.begin(workspace, { type: 'sandbox', id: ada.id }, 60);
    expect((await scans.settle(scan)).changes).toEqual([]);
    expect(await logOf(workspace)).toEqual(['hers']);
  });
});

describe('a command beside a write of the service', () => {
  it('is not logged with a file that was written and is not in the log yet', async () => {
    const workspace = await service.workspace(ada);
    const scans = service.app.get(Scans, { strict: false });
    const changes = service.app.get(ChangeLogStore, { strict: false });
    const intents = service.app.get(WriteIntentsStore, { strict: false });
    const scan = await scans.begin(workspace, { type: 'sandbox', id: ada.id }, 60);
    const asked = Promise.withResolvers<void>();
    const record = changes.record.bind(changes);
    jest.spyOn(changes, 'record').mockImplementationOnce(async (...given) => {
      await asked.promise;
      return record(...given);
    });
    const stillOpen = intents.stillOpen.bind(intents);
    jest.spyOn(intents, 'stillOpen').mockImplementation(ids => {
      asked.resolve();
      return stillOpen(ids);
    });
    const upload = ada.client.put(`/api/workspaces/${workspace}/files/content`, {
      path: 'new/hers',
      content: 'x',
    });
    await folderBecomes(folderOf(workspace), names => names.includes('new'));
    await until(async () => existsSync(path.join(folderOf(workspace), 'new/hers')));
    writeFileSync(path.join(folderOf(workspace), 'its'), 'x');
    expect((await scans.settle(scan)).changes.map(change => change.path)).not.toContain('new/hers');
    expect((await upload).status).toBe(200);
    const rows = await service.database.query<Json>(
      'select path, writer_type from workspace_change where workspace_id = $1 order by path',
      [workspace],
    );
    expect(rows.filter(({ path }) => path !== 'new')).toEqual([
      { path: 'its', writer_type: 'sandbox' },
      { path: 'new/hers', writer_type: 'user' },
    ]);
  });
});

describe('a tree that cannot be listed', () => {
  it('says that the changes of a command are not known, and logs them when it can', async () => {
    const workspace = await service.workspace(ada);
    const broken = new WorkspaceFsError('busy', '', 'The workspace could not be listed; try again');
    const take = Snapshot.take.bind(Snapshot);
    let isBroken = true;
    jest.spyOn(Snapshot, 'take').mockImplementation(async (...given) => {
      if (!isBroken || !existsSync(path.join(folderOf(workspace), 'made'))) return take(...given);
      throw broken;
    });
    const { status, body } = await bash(workspace, 'echo x > made');
    isBroken = false;
    expect([status, body.is_error]).toEqual([200, false]);
    expect(body.output).toContain('Which files it changed is not known yet, and is logged later.');
    await until(async () => (await logOf(workspace)).length > 0);
    expect(await logOf(workspace)).toEqual(['made']);
  });

  it('is not compared with a beginning that was cut short', async () => {
    const workspace = await service.workspace(ada);
    for (const name of ['a', 'b', 'c']) writeFileSync(path.join(folderOf(workspace), name), name);
    const scans = service.app.get(Scans, { strict: false });
    const scan = await scans.begin(workspace, { type: 'sandbox', id: ada.id }, 60);
    truncateSync(path.join(service.dataDir, 'scans', scan.id), 40);
    await expect(scans.settle(scan)).rejects.toThrow('not complete');
    expect(await logOf(workspace)).toEqual([]);
  });
});

describe('a file that is rewritten with its size, and its time set back', () => {
  const FORGE = 'touch -r file ref; echo bbbb > file; touch -r ref file; rm ref';
  const later = (workspace: string) =>
    service.database.query(
      `update workspace_change set created_at = now() - interval '2 seconds' where workspace_id = $1`,
      [workspace],
    );
  const versionsOf = async (workspace: string): Promise<Json[]> => {
    const history = `/api/workspaces/${workspace}/files/history`;
    const { body } = await ada.client.get(`${history}?path=file`);
    const read = ({ id }: Json) => ada.client.get(`${history}/${id}`);
    return (await Promise.all(body.items.map(read))).map((version: Json) => version.body);
  };

  it('has a new version, by a command of its own', async () => {
    const workspace = await service.workspace(ada);
    await bash(workspace, 'echo aaaa > file');
    await later(workspace);
    expect((await bash(workspace, FORGE)).body).toMatchObject({ is_error: false });
    const [after, before] = await versionsOf(workspace);
    expect([before.content, after.content]).toEqual(['aaaa\n', 'bbbb\n']);
    expect(after.etag).toBe(before.etag);
  });

  it('has a new version, by what goes on in a session', async () => {
    const workspace = await service.workspace(ada);
    const tools = service.app.get(Toolbox, { strict: false });
    const shell = service.app
      .get(SandboxesService, { strict: false })
      .openShell({ caller: { kind: 'tool', id: ada.id } });
    const context = { actor: actor(), workspaceId: workspace, signal: new AbortController().signal, shell };
    const run = (command: string) => tools.run(context, 'bash', { command });
    const there = (name: string) => folderBecomes(folderOf(workspace), names => names.includes(name));
    try {
      await run(`(until [ -e go ]; do sleep 0.05; done; ${FORGE}; touch done) & echo aaaa > file`);
      expect(await versionsOf(workspace)).toHaveLength(1);
      writeFileSync(path.join(folderOf(workspace), 'go'), '');
      await there('done');
    } finally {
      await shell.end();
    }
    // It may have been looked at also before its time was set back.
    const contents = (await versionsOf(workspace)).map(({ content }) => content);
    expect([...new Set(contents)]).toEqual(['bbbb\n', 'aaaa\n']);
  });
});

describe('the database', () => {
  const COPIES = 50_000;
  const LIMIT = 5000;

  /** A log and a history of many files: those of `others` have no number yet, and are not in the history. */
  async function fill(workspace: string, isOpen: boolean): Promise<void> {
    await service.database.query(
      `insert into workspace_change (workspace_id, id, path, kind, size, etag, writer_type, writer_id, captured, created_at, changed_at)
       select $1, case when $3 then null else n end, 'old/f' || n, 'created', 1, '"x"', 'user', $2, not $3, ago, ago
       from generate_series(1, ${COPIES}) n, (select now() - interval '1 hour' as ago) a`,
      [workspace, ada.id, isOpen],
    );
    await service.database.query(
      `insert into file_version (id, workspace_id, path, kind, size, etag, executable, blob, replaced, changed_at)
       select gen_random_uuid(), $1, 'old/f' || n, 'created', 1, '"x"', false, repeat('a', 64), false, now()
       from generate_series(1, ${COPIES}) n`,
      [workspace],
    );
    await service.database.query(
      `insert into workspace_log (workspace_id, last_change) values ($1, $2)
       on conflict (workspace_id) do update set last_change = $2`,
      [workspace, isOpen ? 0 : COPIES],
    );
  }

  it('reads little for a command, however much there is of this workspace and of others', async () => {
    const [workspace, others] = [await service.workspace(ada), await service.workspace(ada)];
    expect((await ada.client.get(`/api/workspaces/${workspace}/files/history`)).status).toBe(200);
    await fill(workspace, false);
    await fill(others, true);
    // What statistics say is right for the whole, and wrong for either of them.
    await service.database.query('analyze');
    const files = `/api/workspaces/${workspace}/files`;
    const { body } = await bash(
      workspace,
      'for n in $(seq 50); do echo $n > n$n; done; mkdir old; echo x > old/f7',
    );
    expect(body).toMatchObject({ is_error: false });
    await ada.client.put(`${files}/content`, { path: 'a', content: 'a' });
    await ada.client.put(`${files}/content`, { path: 'a', content: 'of another size' });
    expect((await ada.client.get(`${files}/history?path=old/f7`)).body.items).toHaveLength(2);
    expect((await ada.client.get(`${files}/history?limit=60`)).body.items).toHaveLength(60);
    const log = service.app.get(NumberedChangesStore, { strict: false });
    await until(async () => (await log.settle(workspace)) === null);
    expect(await log.after(workspace, COPIES, 100)).toHaveLength(53);
    await close();
    expect(await rowsRead()).toBeLessThan(LIMIT);
  });

  /** Rows of the log and the history that were read so far, which the database knows when all connections are closed. */
  async function rowsRead(): Promise<number> {
    await service.database.disconnect();
    const others =
      'select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
    await until(async () => (await service.database.query(others)).length === 0);
    const [{ rows }] = await service.database.query<Json>(
      `select sum(seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_user_tables
       where relname in ('workspace_change', 'file_version')`,
    );
    return rows;
  }
});
