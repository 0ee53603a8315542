import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { exclusively } from './exclusive.mjs';
import { runNpm } from './npm.mjs';
import { inProject, projectDir } from './project.mjs';
import { SetupError } from './setup-error.mjs';
import { stage } from './stage.mjs';

/** The gateway needs what came with 24.9: https://nodejs.org/api/http.html#httpcreateserveroptions-requestlistener */
const oldest = [24, 9];
/** For machines whose own Node.js is older: the program of an npm package that the lock file beside its name pins. */
const source = inProject('scripts', 'runtime');
const place = inProject('.cache', 'node');
const program = path.join(place, 'bin', 'node');
const packageName = `node-${process.platform}-${process.arch}`;

/**
 * The Node.js that everything after the installation runs on: the machine's own where it is new enough.
 * @returns {Promise<{ node: string, env: NodeJS.ProcessEnv }>} the program, and an environment that finds it first
 */
export async function requireRuntime() {
  if (isUsable()) return runtimeAt(process.execPath);
  const version = wantedVersion();
  let output = '';
  if (version && !isVersion(program, version))
    await exclusively(`runtime ${projectDir}`, async () => {
      if (isVersion(program, version)) return;
      output = await stage(`Installing Node.js ${version}`, install);
    });
  if (version && isVersion(program, version)) return runtimeAt(program);
  throw new SetupError(
    `Atelier runs on Node.js ${oldest.join('.')} or newer and this is ${process.version}, and npm has none that runs on this machine: install Node.js ${oldest[0]} from https://nodejs.org and start again.`,
    output,
  );
}

/**
 * Whether the Node.js that this runs on is new enough, and can be shown to sandboxes: they see what is below /usr, and a single
 * program from elsewhere; as root they run under accounts that see nothing of root's folders.
 */
function isUsable() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) return false;
  if (process.platform !== 'linux' || process.execPath.startsWith('/usr/')) return true;
  const isShared = Object.entries(process.config.variables).some(
    ([name, value]) => name.startsWith('node_shared') && (value === true || value === 'true'),
  );
  return !isShared && process.getuid() !== 0;
}

const runtimeAt = node => ({ node, env: environment(path.dirname(node)) });

function wantedVersion() {
  const { optionalDependencies } = JSON.parse(readFileSync(path.join(source, 'package.json'), 'utf8'));
  return optionalDependencies[packageName];
}

/** Keeps the program alone: its package is as large again. */
async function install() {
  // Readable for the accounts that sandboxes run under.
  process.umask(0o022);
  mkdirSync(place, { recursive: true });
  for (const file of ['package.json', 'package-lock.json'])
    copyFileSync(path.join(source, file), path.join(place, file));
  const flags = ['--ignore-scripts', '--include=optional', '--prefer-offline', '--no-audit', '--no-fund'];
  const { ok, output } = await runNpm('node-runtime', ['ci', ...flags], { cwd: place });
  const packages = path.join(place, 'node_modules');
  const installed = path.join(packages, packageName, 'bin', 'node');
  // It is optional, so npm does not fail where it cannot be had.
  if (!ok || !existsSync(installed)) return output;
  mkdirSync(path.dirname(program), { recursive: true });
  renameSync(installed, program);
  rmSync(packages, { recursive: true });
  return output;
}

function isVersion(node, version) {
  const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  return stdout?.trim() === `v${version}`;
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
