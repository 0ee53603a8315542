/**
 * The least that sending a file can cost in Node as it is usually done: node:http and a stream, after one query whether the
 * API key may read the workspace; with `open`, nobody is asked who they are.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import pg from 'pg';

const [root, open] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 });
// The bench ends the database before it ends us.
pool.on('error', () => undefined);
const SQL = `
  select w.id, m.role, wm.role as workspace_role
  from api_key k
  join membership m on m.principal_id = k.user_id
  join workspace w on w.organization_id = m.organization_id
  left join workspace_member wm on wm.workspace_id = w.id and wm.principal_id = k.user_id
  where k.hash = $1 and k.revoked_at is null and w.id = $2`;

async function mayRead({ headers }) {
  const hash = createHash('sha256').update(headers['x-api-key']).digest('base64url');
  const { rows } = await pool.query({ name: 'read', text: SQL, values: [hash, path.basename(root)] });
  return rows.length > 0;
}

const server = http.createServer(async (request, response) => {
  if (!open && !(await mayRead(request))) return response.writeHead(404).end();
  const file = path.join(root, path.basename(request.url));
  const { size } = await stat(file);
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size });
  createReadStream(file).pipe(response);
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`ready http://127.0.0.1:${server.address().port}\n`),
);
