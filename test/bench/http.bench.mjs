/** Reading a workspace over HTTP, authenticated, against node:http with pg asking the same; start-up and idle memory. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { startPostgres } from '../../dist/libs/embedded-postgres/index.js';
import { atelier, bench, compare, folder, report, requestsPerSecond, serve } from './lib.mjs';

const memoryMb = pid => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

await bench(async () => {
  const DATA_DIR = folder();
  const first = await atelier({ DATA_DIR });
  const { api_key, workspace_id, email, password } = first.credentials;
  await new Promise(resolve => setTimeout(resolve, 3000));
  report(
    'idle memory, api and worker',
    memoryMb(first.child.pid),
    'goal <= 150 MB',
    'resident, PostgreSQL apart',
  );
  const exited = new Promise(resolve => first.child.once('exit', resolve));
  first.child.kill('SIGTERM');
  await exited;

  const postgres = await startPostgres({ dataDir: path.join(DATA_DIR, 'postgres'), database: 'atelier' });
  try {
    const DATABASE_URL = postgres.url;
    const service = await atelier({ DATA_DIR, DATABASE_URL });
    report('second start', service.startMs / 1000, 'goal <= 5 s', 'with its database already up');
    const floor = await serve(['test/bench/floors/workspace-read.mjs'], { DATABASE_URL });
    const key = { 'x-api-key': api_key };
    const byKey = await compare(
      5,
      () => requestsPerSecond(`${service.url}/api/workspaces/${workspace_id}`, { headers: key }),
      () => requestsPerSecond(`${floor.url}/${workspace_id}`, { headers: key }),
    );
    report(
      'read a workspace by API key',
      byKey.ours / byKey.floor,
      'goal >= 0.75',
      `${byKey.ours | 0} of ${byKey.floor | 0} requests/s`,
    );

    const login = await fetch(`${service.url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    });
    const { access_token } = await login.json();
    const token = { authorization: `Bearer ${access_token}` };
    const byToken = await compare(
      5,
      () => requestsPerSecond(`${service.url}/api/workspaces/${workspace_id}`, { headers: token }),
      () => requestsPerSecond(`${floor.url}/${workspace_id}`, { headers: key }),
    );
    report(
      'read a workspace by access token',
      byToken.ours / byToken.floor,
      'goal >= 0.75',
      `${byToken.ours | 0} of ${byToken.floor | 0} requests/s`,
    );
  } finally {
    await postgres.stop();
  }
});
