/** The least that reading a workspace by API key can cost here: node:http, pg, and the same two questions as one join. */
import { createHash } from 'node:crypto';
import http from 'node:http';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 });
// The bench ends the database before it ends us.
pool.on('error', () => undefined);
const SQL = `
  select w.id, w.organization_id, w.name, w.visibility, w.created_by, w.created_at, w.updated_at, m.role, wm.role as workspace_role
  from api_key k
  join membership m on m.principal_id = k.user_id
  join workspace w on w.organization_id = m.organization_id
  left join workspace_member wm on wm.workspace_id = w.id and wm.principal_id = k.user_id
  where k.hash = $1 and k.revoked_at is null and w.id = $2`;

const server = http.createServer(async (request, response) => {
  const hash = createHash('sha256').update(request.headers['x-api-key']).digest('base64url');
  const { rows } = await pool.query({
    name: 'read',
    text: SQL,
    values: [hash, request.url.split('/').at(-1)],
  });
  response.writeHead(rows.length > 0 ? 200 : 404, { 'content-type': 'application/json' });
  response.end(JSON.stringify(rows[0]));
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`ready http://127.0.0.1:${server.address().port}\n`),
);
