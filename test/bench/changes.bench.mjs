/**
 * Many changes at once, and writes beside them: 20,000 files that one command makes against the same command alone; a write right
 * after it, and writes into 100,000 files that came behind the service's back, against a write into a new workspace.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { atelier, bench, cpuMs, folder, median, report } from './lib.mjs';

const MADE = 20_000;
const THERE = 100_000;
const ROUNDS = 3;
const command = `mkdir many && cd many && for n in $(seq ${MADE}); do echo $n >f$n; done`;

await bench(async () => {
  const service = await atelier({ WORKSPACE_LIMITS: `files=${THERE + THERE / 2}` });
  const { api_key, organization_id } = service.credentials;
  const call = async (method, at, body) => {
    const response = await fetch(service.url + at, {
      method,
      headers: { 'x-api-key': api_key, 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok || answer.is_error) throw new Error(`${at}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const workspace = async () =>
    (await call('POST', '/api/workspaces', { name: 'Bench', organization_id })).id;
  const put = (id, at, content = 'x') =>
    call('PUT', `/api/workspaces/${id}/files/content`, { path: at, content });
  const timed = async work => {
    const start = performance.now();
    await work();
    return performance.now() - start;
  };
  const results = { made: [], alone: [], cpu: [], after: [], quiet: [] };
  for (let round = 0; round < ROUNDS; round++) {
    const id = await workspace();
    await put(id, 'warm');
    results.quiet.push(await timed(() => put(id, 'quiet')));
    const before = cpuMs(service.child.pid);
    results.made.push(
      await timed(() => call('POST', `/api/workspaces/${id}/tools/bash`, { input: { command } })),
    );
    results.cpu.push(cpuMs(service.child.pid) - before);
    results.after.push(await timed(() => put(id, 'many/f1')));
    // Else the next measurements have the capturing beside them.
    await call('GET', `/api/workspaces/${id}/files/history?limit=1`);
    const cwd = folder();
    results.alone.push(await timed(async () => spawnSync('bash', ['-c', command], { cwd })));
  }
  const ms = name => median(results[name]);
  report(
    `${MADE} files by one command / alone`,
    ms('made') / ms('alone'),
    '',
    `${ms('made') | 0} ms (goal <= 2000), alone ${ms('alone') | 0}; CPU of the service ${ms('cpu') | 0}`,
  );
  const quiet = ms('quiet');
  const detail = took => `${took.toFixed(1)} ms, quiet ${quiet.toFixed(1)}`;
  report('overwrite right after it / quiet', ms('after') / quiet, '', detail(ms('after')));

  const id = await workspace();
  const root = path.join(service.dataDir, 'workspaces', id);
  const { uid, gid } = statSync(root);
  for (let n = 0; n < THERE; n++) {
    if (n % 100 === 0) mkdirSync(path.join(root, `d${n / 100}`));
    writeFileSync(path.join(root, `d${Math.floor(n / 100)}`, `f${n}`), `${n}`);
  }
  spawnSync('chown', ['-R', `${uid}:${gid}`, root]);
  const first = await timed(() => put(id, 'd7/f700'));
  report('first overwrite in 100,000 / quiet', first / quiet, '', `${detail(first)} (goal <= 1000)`);
  const full = [];
  for (let n = 0; n < 50; n++) full.push(await timed(() => put(id, `new${n}`)));
  report('write above half of the files / quiet', median(full) / quiet, '', detail(median(full)));
});
