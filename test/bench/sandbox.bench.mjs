/**
 * What a sandboxed command costs. Fresh: a sandbox of its own, against bare bwrap with the same namespaces and mounts
 * spawned from Node. Warm: in a session, against the same command run by a shell in a bare bwrap that is there already,
 * which is told through a pipe. Needs a build: `npm run build && node test/bench/sandbox.bench.mjs [rounds]`.
 */
import { spawn } from 'node:child_process';
import { chownSync, lstatSync, mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox } from '#libs/sandbox/index.js';

const rounds = Number(process.argv[2] ?? 100);
const owner = process.getuid() === 0 ? { uid: 200_001, gid: 200_001 } : undefined;
const workspace = mkdtempSync(join(tmpdir(), 'sandbox-bench-'));
if (owner) chownSync(workspace, owner.uid, owner.gid);

const links = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'].flatMap(name => {
  const entry = lstatSync(`/${name}`, { throwIfNoEntry: false });
  if (!entry) return [];
  const path = `/${name}`;
  return entry.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
});
const settings = ['/etc/alternatives', '/etc/ld.so.cache', '/etc/ssl/certs', '/etc/ssl/openssl.cnf'];
const bare = [
  '--unshare-user',
  '--unshare-pid',
  '--unshare-net',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup',
  '--disable-userns',
  '--assert-userns-disabled',
  '--uid',
  '1000',
  '--gid',
  '1000',
  '--hostname',
  'sandbox',
  '--new-session',
  '--die-with-parent',
  '--cap-drop',
  'ALL',
  '--ro-bind',
  '/usr',
  '/usr',
  ...links,
  ...settings.flatMap(path => ['--ro-bind-try', path, path]),
  '--proc',
  '/proc',
  '--dev',
  '/dev',
  '--tmpfs',
  '/dev/shm',
  '--remount-ro',
  '/dev',
  '--tmpfs',
  '/tmp',
  '--dir',
  '/run',
  '--bind',
  workspace,
  '/workspace',
  '--chdir',
  '/workspace',
  '--remount-ro',
  '/',
  '--',
];

function runBare(argv) {
  return new Promise((resolve, reject) => {
    const env = { PATH: '/usr/bin:/bin' };
    const child = spawn('bwrap', [...bare, ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'], ...owner });
    child.stdout.resume();
    child.stderr.resume();
    child.once('error', reject);
    child.once('close', code => (code === 0 ? resolve() : reject(new Error(`bwrap ended with ${code}`))));
  });
}

async function timed(act) {
  const start = performance.now();
  await act();
  return performance.now() - start;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

const sandbox = createSandbox('bubblewrap');
const check = await sandbox.check();
if (!check.ok) throw new Error(check.reason);

for (const argv of [['true'], ['bash', '-c', 'echo hi']]) {
  const ours = [];
  const theirs = [];
  for (let round = 0; round < rounds; round++) {
    theirs.push(await timed(() => runBare(argv)));
    ours.push(await timed(() => sandbox.run({ workspace, owner, argv })));
  }
  const ratio = (median(ours) / median(theirs)).toFixed(3);
  const times = `run=${median(ours).toFixed(2)}ms bare=${median(theirs).toFixed(2)}ms`;
  console.log(`sandbox.fresh ratio=${ratio} ${times} command=${JSON.stringify(argv.join(' '))}`);
}
/** A shell in a bare bwrap that runs what it is told, and says when it is done. */
function openBare() {
  const loop = 'while IFS= read -r line; do bash -c "$line" </dev/null; echo "done"; done';
  const child = spawn('bwrap', [...bare, 'bash', '-c', loop], {
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'pipe', 'inherit'],
    ...owner,
  });
  let heard = '';
  let answered = () => {};
  child.stdout.on('data', bytes => {
    heard += bytes;
    if (heard.endsWith('done\n')) answered();
  });
  const run = command =>
    new Promise(resolve => {
      heard = '';
      answered = resolve;
      child.stdin.write(`${command}\n`);
    });
  return { run, end: () => child.stdin.end() };
}

const theirs = openBare();
const session = await sandbox.openSession({ workspace, owner });
for (const command of ['true', 'echo hi', 'ls -la /usr/bin | wc -l']) {
  const [warm, floor] = [[], []];
  await theirs.run(command);
  await session.run({ script: command });
  for (let round = 0; round < rounds; round++) {
    floor.push(await timed(() => theirs.run(command)));
    warm.push(await timed(() => session.run({ script: command })));
  }
  const ratio = (median(warm) / median(floor)).toFixed(3);
  const perSecond = values => Math.round((1000 * values.length) / values.reduce((sum, one) => sum + one, 0));
  const times = `session=${median(warm).toFixed(2)}ms bare=${median(floor).toFixed(2)}ms`;
  const rates = `per_second=${perSecond(warm)} bare_per_second=${perSecond(floor)}`;
  console.log(`sandbox.warm ratio=${ratio} ${times} ${rates} command=${JSON.stringify(command)}`);
}
await session.end();
theirs.end();

const count = 4 * rounds;
const width = 8;
const spent = await timed(() =>
  Promise.all(
    Array.from({ length: width }, async () => {
      for (let done = 0; done < count / width; done++)
        await sandbox.run({ workspace, owner, argv: ['true'] });
    }),
  ),
);
console.log(`sandbox.throughput fresh_per_second=${Math.round((1000 * count) / spent)} concurrency=${width}`);
rmSync(workspace, { recursive: true });
process.exit(0);
