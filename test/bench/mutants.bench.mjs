/**
 * Plants faults in the code that guards access, quotas, budgets and leases, each in a copy of the tree, and runs the tests
 * that must notice, on one PostgreSQL for all of them. `npm run bench -- mutants [word]`: those whose file, text or tests
 * have the word. Prints which test killed each, and which survived.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import globalSetup from '../global-setup.mjs';
import globalTeardown from '../global-teardown.mjs';
import { MUTANTS } from './mutants/list.mjs';

const AT_ONCE = Math.min(2, availableParallelism());
const COPIED = [
  'src',
  'libs',
  'test',
  'dist',
  'docker',
  'scripts',
  'package.json',
  'jest.config.mjs',
  'tsconfig.json',
  'openapi.json',
  'README.md',
  'docs',
];
const FLAGS = ['--no-warnings'];
/** A mutant that makes a test hang is killed by this, unless the test says otherwise. */
const TEST_TIMEOUT_MS = 120_000;

const words = process.argv.slice(2);
const chosen = MUTANTS.filter(([file, from, , { specs, tests }]) =>
  words.every(word => [file, from, tests, ...specs].some(text => text.includes(word))),
);

function copyOfTree() {
  const folder = mkdtempSync(path.join(tmpdir(), 'atelier-mutants-'));
  for (const name of COPIED)
    cpSync(name, path.join(folder, name), { recursive: true, verbatimSymlinks: true });
  symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  return folder;
}

/** Whether the tests pass; their output where they do not. */
function run(folder, { specs, tests }) {
  const jest = path.join(folder, 'node_modules/jest/bin/jest.js');
  const options = ['--rootDir', folder, '--testTimeout', `${TEST_TIMEOUT_MS}`, '--testNamePattern', tests];
  const child = spawn(process.execPath, [...FLAGS, jest, ...options, ...specs], {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: FLAGS.join(' ') },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk));
  return new Promise(resolve => child.once('exit', code => resolve({ passed: code === 0, output })));
}

/** Tests that do not pass without a mutant, or do not exist, would tell nothing. */
async function requireBaseline(folder) {
  for (const [key, { specs, tests }] of new Map(chosen.map(([, , , how]) => [JSON.stringify(how), how]))) {
    const { passed, output } = await run(folder, { specs, tests });
    if (!passed || !/^Tests:.* [1-9]\d* passed/m.test(output))
      throw new Error(`Without a mutant these do not pass: ${key}\n${output.slice(-4000)}`);
  }
}

function sourceOf(folder, [file, from]) {
  const text = readFileSync(path.join(folder, file), 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${file} has not exactly once: ${from}`);
  return text;
}

/** Changes the source, and what is built of it, which processes of the service run that tests start. */
async function plant(folder, mutant) {
  const [file, from, to] = mutant;
  const text = sourceOf(folder, mutant);
  const { compile } = await import(path.join(folder, 'scripts/lib/compile.mjs'));
  const put = async content => {
    writeFileSync(path.join(folder, file), content);
    await compile([file]);
  };
  await put(text.replace(from, () => to));
  return () => put(text);
}

const describe = ([file, from, to]) =>
  `${file}: ${from.trim().slice(0, 70)} → ${to.trim().slice(0, 50) || 'nothing'}`;

await globalSetup();
const folders = Array.from({ length: AT_ONCE }, copyOfTree);
try {
  // A text that is not there any more would be found only when its turn comes.
  for (const mutant of MUTANTS) sourceOf(folders[0], mutant);
  await requireBaseline(folders[0]);
  const waiting = [...chosen];
  const survivors = [];
  await Promise.all(
    folders.map(async folder => {
      for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
        const restore = await plant(folder, mutant);
        const { passed: survived, output } = await run(folder, mutant[3]);
        await restore();
        const killer = /● (.*)/.exec(output)?.[1];
        // A copy that does not even start would kill everything.
        if (!survived && (!killer || killer.includes('failed to run')))
          throw new Error(`${describe(mutant)}\n${output.slice(-4000)}`);
        if (survived) survivors.push(mutant);
        process.stdout.write(
          survived
            ? `  SURVIVED ${describe(mutant)}\n`
            : `  killed   ${describe(mutant)}\n             by ${killer}\n`,
        );
      }
    }),
  );
  process.stdout.write(`\n${chosen.length - survivors.length} of ${chosen.length} mutants killed\n`);
  if (survivors.length > 0) process.exitCode = 1;
} finally {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  await globalTeardown();
}
