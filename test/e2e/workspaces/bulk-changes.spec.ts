import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { ChangeLogStore } from '../../../src/workspaces/changes/index.js';
import { RunFiles } from '../../../src/workspaces/history/index.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

/** So many that an index by path is one level higher than one by workspace, which then looks cheaper. */
const THERE = 15_000;
const GIVEN = 200;
const TABLES = ['workspace_change', 'file_version'];

let service: TestService;
let ada: Person;

beforeAll(async () => {
  explainStatements();
  service = await TestService.start();
  ada = await service.person();
});
afterAll(async () => {
  await service.stop();
  jest.restoreAllMocks();
});

/** Changes of a workspace, and their versions, without the service. */
async function generate(workspace: string, count: number): Promise<void> {
  await service.database.query(
    `insert into workspace_change (workspace_id, path, kind, etag, writer_type, writer_id, created_at, changed_at, captured)
     select $1, 'many/f' || n, 'created', 'x', 'user', 'other', now(), now(), true from generate_series(1, $2::int) n`,
    [workspace, count],
  );
  await service.database.query(
    `insert into file_version (id, workspace_id, path, kind, etag, executable, blob, replaced, changed_at)
     select gen_random_uuid(), $1, 'many/f' || n, 'created', 'x', false, 'b', false, now() from generate_series(1, $2::int) n`,
    [workspace, count],
  );
}

/** How statements reach the tables of changes: each scan with its columns, as planned right before it runs. */
let scans: Set<string> | undefined;

/** Connections bind this method when they are made: it has to precede the service. */
function explainStatements(): void {
  const query = pg.Client.prototype.query as (...given: unknown[]) => Promise<{ rows: Json[] }>;
  jest.spyOn(pg.Client.prototype, 'query').mockImplementation(async function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    const [asked, values = (asked as Json)?.values] = given;
    const text = typeof asked === 'string' ? asked : (asked as Json)?.text;
    if (scans && typeof text === 'string' && /jsonb_(array_elements|to_recordset)|with own as/.test(text)) {
      const { rows } = await query.call(this, `explain (format json) ${text}`, values);
      collect(rows[0]?.['QUERY PLAN'][0].Plan, scans);
    }
    return query.apply(this, given);
  } as never);
}

async function scansOf(work: () => Promise<unknown>): Promise<string[]> {
  const found = new Set<string>();
  scans = found;
  await work();
  scans = undefined;
  return [...found].sort();
}

function collect(node: Json, into: Set<string>): void {
  const { 'Relation Name': table, 'Index Name': index, 'Index Cond': condition, Operation: operation } = node;
  if (TABLES.includes(table) && !operation)
    into.add(`${index ?? node['Node Type']} by ${columnsIn(condition)}`);
  for (const inner of node.Plans ?? []) collect(inner, into);
}

const columnsIn = (condition = '') =>
  ['workspace_id', 'from_path', 'path', 'seq', 'id']
    .filter(name => new RegExp(`\\b${name}\\b`).test(condition.replaceAll('p.path', '')))
    .join(', ');

const LOGGED = [
  'workspace_change_from_place by workspace_id, from_path',
  'workspace_change_pkey by seq',
  'workspace_change_place by workspace_id, path',
];

describe('many changes at once', () => {
  const given = Array.from({ length: GIVEN }, (_, n) => ({
    path: `many/f${n}`,
    kind: 'modified' as const,
    size: 1,
    etag: 'y',
  }));
  const record = async (workspace: string) => {
    const log = service.app.get(ChangeLogStore, { strict: false });
    expect(await log.missing(workspace, given)).toHaveLength(GIVEN);
    await log.record(workspace, { type: 'user', id: ada.id }, given);
  };

  it('are looked up one by one, by their paths, in tables that were never analyzed', async () => {
    const workspace = await service.workspace(ada);
    await generate(workspace, THERE);
    expect(await scansOf(() => record(workspace))).toEqual(LOGGED);
  });

  it('and where statistics know nothing but a few of another workspace', async () => {
    await service.database.query('delete from workspace_change');
    await service.database.query('delete from file_version');
    await service.database.query('vacuum workspace_change');
    await service.database.query('vacuum file_version');
    await generate(await service.workspace(ada), 50);
    await service.database.query('analyze workspace_change');
    await service.database.query('analyze file_version');
    const workspace = await service.workspace(ada);
    await generate(workspace, THERE);
    const found = await scansOf(async () => {
      await record(workspace);
      await service.database.query(
        'update workspace_change set captured = true where workspace_id = $1 and captured = false',
        [workspace],
      );
      await ada.client.put(`/api/workspaces/${workspace}/files/content`, { path: 'many/f1', content: 'a' });
      await ada.client.get(`/api/workspaces/${workspace}/files/history?path=many/f1`);
    });
    expect(found).toEqual(['file_version_path by workspace_id, path', ...LOGGED]);
    const run = randomUUID();
    await service.database.query(
      `update file_version set run_id = $2 where workspace_id = $1 and path like 'many/f1__'`,
      [workspace, run],
    );
    const files = service.app.get(RunFiles, { strict: false });
    const ofRun = await scansOf(async () =>
      expect(await files.changed(workspace, [run], 500)).toHaveLength(100),
    );
    expect(ofRun.filter(scan => !/_pkey|_id_key|_run_id/.test(scan))).toEqual([
      'file_version_path by workspace_id, path',
    ]);
  });
});
