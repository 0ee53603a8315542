/**
 * `npm test`: sets up what a fresh clone lacks, then lint and every test. `npm test -- libs/schema` runs the tests
 * below that path only. Plain Node.js 20 or later, no dependencies.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTool } from './lib/foreground.mjs';
import { prepare } from './lib/prepare.mjs';
import { reachablePlace } from './lib/reachable.mjs';
import { SetupError } from './lib/setup-error.mjs';
import { readStamp } from './lib/stamp.mjs';
import { offerTestTools } from './lib/system-packages.mjs';

const selection = process.argv.slice(2);
let counts = { passed: 0, failed: 1 };
try {
  process.exitCode = await lintAndTest();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  error.print();
  process.exitCode = 1;
}
console.log(`\n${counts.passed} passed, ${counts.failed} failed`);

async function lintAndTest() {
  const { node, env } = await prepare({ dev: true });
  await offerTestTools();
  if (selection.length === 0) {
    heading('Lint');
    const code = await runTool(['npm', 'run', 'lint'], env);
    if (code !== 0) return code;
  }
  heading('Tests');
  return runJest(node, env);
}

async function runJest(node, env) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'atelier-test-'));
  const countsFile = path.join(folder, 'counts.json');
  try {
    const promptExit = `--import=${import.meta.resolve('./lib/prompt-exit.mjs')}`;
    const jest = ['--no-warnings', promptExit, 'node_modules/jest/bin/jest.js'];
    const reporters = [
      '--reporters=default',
      `--reporters=${fileURLToPath(import.meta.resolve('./lib/count-reporter.mjs'))}`,
      `--reporters=${fileURLToPath(import.meta.resolve('./lib/stall-reporter.mjs'))}`,
    ];
    // The selection goes first: Jest takes whatever follows --reporters for one more reporter.
    // Each test file loads what it shares with none under names of its own, which are not worth keeping.
    const jestEnv = { ...env, NODE_DISABLE_COMPILE_CACHE: '1' };
    const placed = reachablePlace()([node, ...jest, ...selection, ...reporters], jestEnv);
    const code = await runTool(placed.command, { ...placed.env, TEST_COUNTS_FILE: countsFile });
    counts = readStamp(countsFile) ?? counts;
    return code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function heading(title) {
  console.log(`\n── ${title} ──`);
}
