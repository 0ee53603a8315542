/** A list of 10,000 workspaces, page by page, against the same pages by pg; queries a page, for pages of 10 and of 200. */
import path from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../dist/libs/embedded-postgres/index.js';
import { atelier, bench, compare, folder, report } from './lib.mjs';

const COUNT = 10_000;
const PAGE = 200;
const SQL = `
  select w.*, m.role, wm.role as workspace_role from workspace w
  join membership m on m.organization_id = w.organization_id and m.principal_id = $1
  left join workspace_member wm on wm.workspace_id = w.id and wm.principal_id = $1
  where w.id > $2 order by w.id limit ${PAGE + 1}`;

await bench(async () => {
  const DATA_DIR = folder();
  const seed = await atelier({ DATA_DIR });
  const exited = new Promise(resolve => seed.child.once('exit', resolve));
  seed.child.kill('SIGTERM');
  await exited;
  const postgres = await startPostgres({ dataDir: path.join(DATA_DIR, 'postgres'), database: 'atelier' });
  const pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
  pool.on('error', () => undefined);
  try {
    const service = await atelier({ DATA_DIR, DATABASE_URL: postgres.url });
    const { api_key, organization_id } = service.credentials;
    const headers = { 'x-api-key': api_key };
    await pool.query(
      `insert into workspace (id, organization_id, name, visibility, created_by, created_at, updated_at)
       select gen_random_uuid(), $1, 'W' || i, 'org', m.user_id, now(), now()
       from generate_series(1, ${COUNT}) i, organization_member m where m.organization_id = $1`,
      [organization_id],
    );
    await pool.query('analyze');
    const { rows } = await pool.query('select user_id from organization_member where organization_id = $1', [
      organization_id,
    ]);
    const page = async (limit, cursor) =>
      (
        await fetch(`${service.url}/api/workspaces?limit=${limit}${cursor ? `&cursor=${cursor}` : ''}`, {
          headers,
        })
      ).json();

    const ours = async () => {
      const start = performance.now();
      let seen = 0;
      for (let cursor = ''; cursor !== null; ) {
        const { items, next_cursor } = await page(PAGE, cursor);
        seen += items.length;
        cursor = next_cursor;
      }
      if (seen < COUNT) throw new Error(`saw ${seen} of ${COUNT}`);
      return performance.now() - start;
    };
    const floor = async () => {
      const start = performance.now();
      let after = '00000000-0000-0000-0000-000000000000';
      for (;;) {
        const found = await pool.query({ name: 'page', text: SQL, values: [rows[0].user_id, after] });
        JSON.stringify(found.rows.slice(0, PAGE));
        if (found.rows.length <= PAGE) return performance.now() - start;
        after = found.rows[PAGE - 1].id;
      }
    };
    const walk = await compare(3, ours, floor);
    report(
      `list ${COUNT} workspaces`,
      walk.ours / walk.floor,
      '',
      `${walk.ours | 0} ms against ${walk.floor | 0} ms by pg alone`,
    );

    const commits = async () =>
      Number(
        (await pool.query('select xact_commit from pg_stat_database where datname = current_database()'))
          .rows[0].xact_commit,
      );
    const settled = async () => {
      await pool.query('select pg_stat_force_next_flush()');
      await new Promise(resolve => setTimeout(resolve, 1500));
      return commits();
    };
    for (const limit of [10, 200]) {
      const before = await settled();
      for (let i = 0; i < 50; i++) await page(limit);
      report(
        `queries of a page of ${limit}`,
        ((await settled()) - before) / 50,
        '',
        'with those of the idle service in the meantime',
      );
    }
  } finally {
    await pool.end();
    await postgres.stop();
  }
});
