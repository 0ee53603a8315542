import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { exclusively } from './exclusive.mjs';
import { inProject, projectDir } from './project.mjs';
import { runLogged } from './run-logged.mjs';
import { SetupError } from './setup-error.mjs';
import { stage } from './stage.mjs';

const major = 24;
const folder = inProject('node_modules', 'node', 'bin');

/**
 * The Node.js that everything after the installation runs on, whatever the machine's own version.
 * @returns {Promise<{ node: string, env: NodeJS.ProcessEnv }>} the program, and an environment that finds it first
 */
export async function requireRuntime() {
  const node = path.join(folder, 'node');
  if (isRuntime(node)) return { node, env: environment(folder) };
  if (isRuntime(process.execPath)) {
    return { node: process.execPath, env: environment(path.dirname(process.execPath)) };
  }
  const output = await exclusively(`runtime ${projectDir}`, () =>
    stage(`Fetching Node.js ${major}`, fetchRuntime),
  );
  if (isRuntime(node)) return { node, env: environment(folder) };
  throw new SetupError(
    `The Node.js ${major} that npm installs does not run on this machine: install Node.js ${major} from https://nodejs.org and start again.`,
    output,
  );
}

/** What the package's own install script does, run directly: npm can be told to run no scripts at all. */
async function fetchRuntime() {
  const script = 'installArchSpecificPackage.js';
  const { output } = await runLogged('node-runtime', process.execPath, [script], {
    cwd: path.dirname(folder),
  });
  return output;
}

function isRuntime(program) {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return stdout?.startsWith(`v${major}.`) ?? false;
}

/**
 * Without npm's own variables: they describe the launcher, and can hold a registry's credentials. Node.js keeps what it
 * compiled for the next start, and its threads share what they freed: else each keeps some for itself.
 */
function environment(first) {
  const own = Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD$|NODE$)/.test(name));
  return {
    NODE_COMPILE_CACHE: inProject('.cache', 'compile'),
    MALLOC_ARENA_MAX: '2',
    ...Object.fromEntries(own),
    PATH: `${first}${path.delimiter}${process.env.PATH ?? ''}`,
  };
}
