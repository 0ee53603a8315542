import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { exclusively } from './exclusive.mjs';
import { runLogged } from './run-logged.mjs';
import { SetupError } from './setup-error.mjs';
import { stage } from './stage.mjs';

/**
 * What running code in a sandbox needs, and git, which keeps earlier versions of files in one: a program, and the Debian
 * package that holds it.
 */
const sandboxTools = { bwrap: 'bubblewrap', setpriv: 'util-linux', prlimit: 'util-linux', git: 'git' };
/**
 * What only tests need: a Redis server and a Docker engine of their own, a browser for the pages that people see, programs
 * that make hostile folders and certificates, open what the service has written, and install packages in a sandbox. Sandboxes
 * have the system's own programs alone, whatever else is on the PATH.
 */
const testTools = {
  'redis-server': 'redis-server',
  dockerd: 'docker.io',
  chromium: 'chromium',
  nginx: 'nginx-light',
  '/usr/bin/flask': 'python3-flask',
  openssl: 'openssl',
  '/usr/bin/pip3': 'python3-pip',
  '/usr/bin/python3': 'python3',
  unzip: 'unzip',
};
/** What makes tests faster; not every Debian has it. */
const fasterTestTools = { 'chromium-headless-shell': 'chromium-headless-shell' };

const dockerSocket = '/var/run/docker.sock';

/**
 * Installs missing sandbox programs where that is possible, else says what to type. Never an error: the service
 * runs without them and refuses to run code.
 */
export async function offerSandboxTools() {
  if (process.platform !== 'linux') {
    console.log('! Running code in a sandbox needs Linux: everything else works here.');
    return;
  }
  const missing = await install(sandboxTools);
  if (missing.length === 0) return;
  const command = `${process.getuid() === 0 ? '' : 'sudo '}apt-get install ${missing.join(' ')}`;
  const what = missing.every(name => name === 'git') ? 'There is no history of files' : 'Code cannot be run';
  console.log(`! ${what} until more is installed: type \`${command}\`, then start again.`);
}

/** As {@link offerSandboxTools}, for what only tests need; those that need what is missing fail. */
export async function offerTestTools() {
  const wanted = packagesMissing(testTools);
  if (wanted.length > 0 && process.getuid() === 0)
    console.log(
      `! Tests need ${wanted.join(', ')}, which apt-get installs now. TEST_TOOLS=keep installs nothing; tests that need them then fail.`,
    );
  const missing = process.env.TEST_TOOLS === 'keep' ? wanted : await install(testTools);
  if (missing.length > 0)
    console.log(`! Some tests need more: type \`sudo apt-get install ${missing.join(' ')}\`.`);
  if (process.env.TEST_TOOLS !== 'keep' && missing.length === 0) await install(fasterTestTools);
  if (process.getuid?.() !== 0 && !mayUse(dockerSocket))
    console.log(
      '! Tests of the driver docker are left out: they need root, or access to an engine (group docker).',
    );
}

/** @returns {Promise<string[]>} the packages that are still missing */
async function install(tools) {
  const missing = packagesMissing(tools);
  if (missing.length === 0 || process.getuid() !== 0 || !isOnPath('apt-get')) return missing;
  await exclusively('apt-get', async () => {
    const wanted = packagesMissing(tools);
    if (wanted.length > 0) await tryStage(wanted);
  });
  return packagesMissing(tools);
}

async function tryStage(packages) {
  try {
    await stage(`Installing ${packages.join(', ')}`, () => aptInstall(packages));
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    error.print();
  }
}

async function aptInstall(packages) {
  // RUNLEVEL=1 keeps a package that brings a service from starting it.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const patience = [
    '-q',
    '-o',
    'DPkg::Lock::Timeout=120',
    '-o',
    'Acquire::Retries=1',
    '-o',
    'Acquire::http::Timeout=20',
  ];
  await runLogged('apt-get-update', 'apt-get', [...patience, 'update'], { env });
  // Tried also after a failed update: the package lists that are there may do.
  const flags = [...patience, 'install', '-y', '--no-install-recommends'];
  const { ok, output, log } = await runLogged('apt-get-install', 'apt-get', [...flags, ...packages], { env });
  if (!ok)
    throw new SetupError(
      `apt-get could not install ${packages.join(', ')}; all it said is in ${log}.`,
      output,
    );
}

function mayUse(socket) {
  try {
    accessSync(socket, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function packagesMissing(tools) {
  const absent = Object.entries(tools).filter(([program]) => !isOnPath(program));
  return [...new Set(absent.map(([, name]) => name))];
}

function isOnPath(program) {
  if (path.isAbsolute(program)) return isExecutable(program);
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter(Boolean);
  return folders.some(folder => isExecutable(path.join(folder, program)));
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // absent or closed: in both cases not a program to run
  }
}
