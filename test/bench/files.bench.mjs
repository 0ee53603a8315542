/**
 * Files over HTTP against programs that do nothing else: downloads against node:http and nginx, a folder as an archive against `zip -1`,
 * a duplicate of 10,000 files against `cp -a` on tmpfs; a workspace of 100,000 files against `find` and `grep`, and the memory
 * that it takes to list, search and zip it.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  atelier,
  bench,
  compare,
  cpuMs,
  database,
  memoryMb,
  nginx,
  onEnd,
  peakMemoryMb,
  programOf,
  report,
  requestsPerSecond,
  resetPeakMemory,
  serve,
  skip,
} from './lib.mjs';

const TEXT = 'alpha beta gamma delta lorem ipsum dolor sit amet function return\n';

const timed = async work => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

function run(program, args, cwd) {
  const { status, stderr } = spawnSync(program, args, {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
    maxBuffer: 1e9,
  });
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
}

class Service {
  constructor({ url, credentials, dataDir, child }) {
    Object.assign(this, { url, dataDir, pid: child.pid, headers: { 'x-api-key': credentials.api_key } });
  }

  async json(method, at, body) {
    const headers = { ...this.headers, 'content-type': 'application/json' };
    const response = await fetch(`${this.url}${at}`, { method, headers, body: body && JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${at} answered ${response.status}: ${answer.detail}`);
    return answer;
  }

  async workspace() {
    const { items } = await this.json('GET', '/api/organizations');
    const { id } = await this.json('POST', '/api/workspaces', {
      name: 'Bench',
      organization_id: items[0].id,
    });
    return { id, root: path.join(this.dataDir, 'workspaces', id), at: `/api/workspaces/${id}` };
  }
}

/** Files as a user of the workspace would have made them. */
function fill(root, count, bytes) {
  const { uid, gid } = statSync(root);
  const content = TEXT.repeat(Math.ceil(bytes / TEXT.length)).slice(0, bytes);
  for (let n = 0; n < count; n++) {
    const at = path.join(root, `d${Math.floor(n / 100)}`);
    if (n % 100 === 0) mkdirSync(at);
    writeFileSync(path.join(at, `f${n}.txt`), content);
  }
  run('chown', ['-R', `${uid}:${gid}`, root]);
}

/** Each against node:http that asks for the same key, and both against nginx, which asks nobody and lets the kernel send. */
async function downloads(service, DATABASE_URL) {
  const program = programOf('nginx');
  if (!program) skip('download / nginx', 'nginx is not installed (apt-get install nginx-light)');
  const { root, at } = await service.workspace();
  const { headers } = service;
  const served = program && (await nginx(program, root));
  const asking = await serve(['test/bench/floors/file-server.mjs', root], { DATABASE_URL });
  const open = await serve(['test/bench/floors/file-server.mjs', root, 'open']);
  for (const [name, bytes, goal] of [
    ['10k', 10_240, ''],
    ['1m', 1_048_576, 'goal >= 1.0'],
  ]) {
    writeFileSync(path.join(root, name), Buffer.alloc(bytes, name));
    const ours = () => new Load(service.pid, `${service.url}${at}/files/download?path=${name}`, headers);
    const node = ({ url, child }, sent) => new Load(child.pid, `${url}/${name}`, sent);
    await compared(`download ${name} / node:http`, ours(), node(asking, headers), 'goal >= 0.9');
    if (!served) continue;
    const fromNginx = () => new Load(undefined, `${served}/${name}`);
    await compared(`download ${name} / nginx`, ours(), fromNginx(), goal);
    await compared(`open node:http, ${name} / nginx`, node(open), fromNginx(), '');
  }
}

async function compared(name, ours, floor, goal) {
  const result = await compare(
    5,
    () => ours.run(),
    () => floor.run(),
  );
  const costs = [ours.each, floor.each].filter(Boolean).join(' and ');
  const detail = `${result.ours | 0} of ${result.floor | 0} requests/s, ${costs} µs of processor each`;
  report(name, result.ours / result.floor, goal, detail);
}

/** Requests to a process, and what it spends on answers. */
class Load {
  answers = 0;
  cpuMs = 0;

  constructor(pid, url, headers) {
    Object.assign(this, { pid, url, headers });
  }

  async run() {
    const before = this.pid && cpuMs(this.pid);
    const onAnswer = () => this.answers++;
    const result = await requestsPerSecond(this.url, { headers: this.headers, ms: 1500, onAnswer });
    if (this.pid) this.cpuMs += cpuMs(this.pid) - before;
    return result;
  }

  get each() {
    return Math.round((this.cpuMs * 1000) / this.answers);
  }
}

async function archive(service) {
  const program = programOf('zip');
  if (!program) return skip('zip / zip -1', 'zip is not installed (apt-get install zip)');
  const { root, at } = await service.workspace();
  fill(root, 2000, 20_000);
  const result = await compare(
    5,
    () => timed(() => zipOf(service, at)),
    () => timed(() => run('sh', ['-c', `${program} -1 -q -r - . | cat >/dev/null`], root)),
  );
  const detail = `${result.ours | 0} ms, alone ${result.floor | 0} ms`;
  report('2,000 files as zip / zip -1', result.ours / result.floor, 'goal <= 1.5', detail);
}

async function zipOf(service, at) {
  const response = await fetch(`${service.url}${at}/files/download?path=`, { headers: service.headers });
  let bytes = 0;
  for await (const chunk of response.body) bytes += chunk.length;
  if (response.status !== 200 || bytes < 1000) throw new Error(`the archive has ${bytes} bytes`);
}

async function duplicates(service) {
  const { root, at } = await service.workspace();
  fill(root, 10_000, 2_000);
  const result = await compare(
    3,
    () =>
      timed(async () => {
        const { operation_id } = await service.json('POST', `${at}/duplicate`, { name: 'Copy' });
        const events = await fetch(`${service.url}/api/operations/${operation_id}/events`, {
          headers: service.headers,
        });
        const said = await events.text(); // the stream ends with the operation
        if (!said.includes('operation.completed')) throw new Error('the copy failed');
      }),
    () => timed(() => run('cp', ['-a', root, path.join(folderOnTmpfs(), 'copy')])),
  );
  const detail = `${result.ours | 0} ms, alone ${result.floor | 0} ms`;
  report('duplicate 10,000 / cp -a, tmpfs', result.ours / result.floor, '', detail);
}

async function many(service) {
  const { root, at } = await service.workspace();
  fill(root, 100_000, 10);
  writeFileSync(path.join(root, 'd999', 'needle.txt'), 'a needle\n');
  const pages = async most => {
    let cursor = '';
    let count = 0;
    do {
      const page = await service.json('GET', `${at}/files?recursive=true&limit=200${cursor}`);
      count += page.items.length;
      cursor = page.next_cursor && `&cursor=${encodeURIComponent(page.next_cursor)}`;
    } while (cursor && count < most);
  };
  const search = async () => {
    const { items } = await service.json('GET', `${at}/search?q=needle&case_sensitive=true`);
    if (items.length !== 1) throw new Error(`${items.length} found`);
  };
  await memoryDuring(service, 'listed', () => pages(100_000));
  await memoryDuring(service, 'searched', search);
  await memoryDuring(service, 'zipped', () => zipOf(service, at));
  const listed = await compare(
    3,
    () => timed(() => pages(2000)),
    () => timed(() => run('find', ['.', '-printf', '%p\\n'], root)),
  );
  const detail = `${listed.ours | 0} ms, find ${listed.floor | 0} ms`;
  report('100,000 files: ten pages / find', listed.ours / listed.floor, '', detail);
  const found = await compare(
    3,
    () => timed(search),
    () => timed(() => run('grep', ['-rIF', 'needle', '.'], root)),
  );
  report(
    '100,000 files: search / grep',
    found.ours / found.floor,
    '',
    `${found.ours | 0} ms, grep ${found.floor | 0} ms`,
  );
}

/** The most memory that the service has meanwhile, in MB. */
async function memoryDuring(service, what, work) {
  const before = memoryMb(service.pid);
  resetPeakMemory(service.pid);
  const ms = await timed(work);
  const detail = `MB at most, ${before | 0} before, PostgreSQL apart; ${ms | 0} ms`;
  report(`100,000 files: ${what}`, peakMemoryMb(service.pid), '', detail);
}

/** Where the system has one: what is compared is work, not a disk. */
function folderOnTmpfs() {
  const made = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'atelier-bench-'));
  chmodSync(made, 0o755);
  onEnd(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const only = process.argv[2];
await bench(async () => {
  const { DATA_DIR, DATABASE_URL } = await database(folderOnTmpfs());
  const service = new Service(await atelier({ DATA_DIR, DATABASE_URL }));
  for (const work of [downloads, archive, duplicates, many])
    if (!only || work.name === only) await work(service, DATABASE_URL);
});
