/** The least that a form can cost in Node: GET sends a string, POST parses JSON, inserts it as a row and commits. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { json } from 'node:stream/consumers';
import pg from 'pg';

const page = 'x'.repeat(Number(process.argv[2]));
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 });
// The bench ends the database before it ends us.
pool.on('error', () => undefined);
await pool.query(`create table if not exists bench_form (
  id uuid primary key, form_id uuid not null, key text not null, data jsonb not null, received_at timestamptz not null default now())`);
await pool.query('create unique index if not exists bench_form_key on bench_form (form_id, key)');
await pool.query('create index if not exists bench_form_recent on bench_form (form_id, received_at)');
const form = randomUUID();
const SQL =
  'insert into bench_form (id, form_id, key, data) values ($1, $2, $3, $4) on conflict (form_id, key) do nothing';

const server = http.createServer(async (request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
    return;
  }
  const { values } = await json(request);
  await pool.query({
    name: 'add',
    text: SQL,
    values: [randomUUID(), form, randomUUID(), JSON.stringify(values)],
  });
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"received":true}');
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`ready http://127.0.0.1:${server.address().port}\n`),
);
