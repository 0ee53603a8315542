/**
 * What a search over the HTTP interface costs, against `grep -rIF` alone (and `rg`, where there is one), on 10,000 small
 * files. Needs a build: `npm run build && node test/bench/search.bench.mjs [rounds]`.
 */
import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { atelier, bench, compare, report } from './lib.mjs';

const rounds = Number(process.argv[2] ?? 9);
const LINE = 'alpha beta gamma delta lorem ipsum dolor sit amet function return\n';

function fill(root) {
  const { uid, gid } = statSync(root);
  for (let folder = 0; folder < 100; folder++) {
    const at = path.join(root, `f${folder}`, `g${folder % 7}`);
    mkdirSync(at, { recursive: true });
    for (let file = 0; file < 100; file++)
      writeFileSync(
        path.join(at, `${file}.txt`),
        `${LINE.repeat(40)}${file === 50 ? 'a needle here\n' : ''}`,
      );
    chownSync(path.dirname(at), uid, gid);
  }
}

function program(name, args, cwd) {
  const start = performance.now();
  execFileSync(name, args, { cwd, stdio: 'ignore' });
  return performance.now() - start;
}

function has(name) {
  return process.env.PATH?.split(':').some(folder => {
    try {
      return readdirSync(folder).includes(name);
    } catch {
      return false; // a folder of the PATH need not exist
    }
  });
}

await bench(async () => {
  const { url, credentials, dataDir } = await atelier();
  const headers = { 'x-api-key': credentials.api_key, 'content-type': 'application/json' };
  const { items } = await (await fetch(`${url}/api/organizations`, { headers })).json();
  const made = await fetch(`${url}/api/workspaces`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ name: 'Bench', organization_id: items[0].id }),
  });
  const { id } = await made.json();
  const root = path.join(dataDir, 'workspaces', id);
  fill(root);

  const search = async query => {
    const start = performance.now();
    const response = await fetch(`${url}/api/workspaces/${id}/search?${new URLSearchParams(query)}`, {
      headers,
    });
    const { items } = await response.json();
    if (response.status !== 200 || items.length === 0) throw new Error(`search answered ${response.status}`);
    return performance.now() - start;
  };
  const show = async (name, query, floor, goal) => {
    const result = await compare(rounds, () => search(query), floor);
    const times = `${result.ours.toFixed(0)} ms, alone ${result.floor.toFixed(0)} ms`;
    report(name, result.ours / result.floor, goal, times);
  };
  const grep = () => program('grep', ['-rIF', 'needle', '.'], root);
  const exact = { q: 'needle', case_sensitive: true, limit: 200 };
  await show('search text / grep -rIF', exact, grep, '<= 1.5');
  await show(
    'search any case / grep -rIiF',
    { q: 'needle', limit: 200 },
    () => program('grep', ['-rIiF', 'needle', '.'], root),
    '<= 1.5',
  );
  await show(
    'search regex / grep -rIE',
    { q: 'ne+dle', regex: true, limit: 200 },
    () => program('grep', ['-rIiE', 'ne+dle', '.'], root),
    '<= 1.5',
  );
  await show(
    'search names / find',
    { q: '50.txt', in: 'names', limit: 200 },
    () => program('find', ['.', '-name', '*50.txt*'], root),
    '-',
  );
  if (has('rg')) await show('search text / rg', exact, () => program('rg', ['-F', 'needle', '.'], root), '-');
});
