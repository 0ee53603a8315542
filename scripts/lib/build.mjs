import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { exclusively } from './exclusive.mjs';
import { inProject, projectDir } from './project.mjs';
import { SetupError } from './setup-error.mjs';
import { stage } from './stage.mjs';
import { filesBelow, hashOf, readStamp, removeStamp, writeStamp } from './stamp.mjs';

const stampFile = inProject('dist', '.built.json');
const inputs = [
  'src',
  'libs',
  'tsconfig.json',
  'tsconfig.build.json',
  'nest-cli.json',
  'scripts/lib/build-child.mjs',
  'scripts/lib/bundle.mjs',
  'package.json',
  'package-lock.json',
];

/** Compiles and bundles the project unless dist already holds what these sources give. */
export async function requireBuild() {
  if (isBuilt(sources())) return;
  await exclusively(`build ${projectDir}`, async () => {
    const current = sources();
    if (!isBuilt(current)) await stage('Building', () => build(current));
  });
}

async function build(current) {
  const previous = readStamp(stampFile);
  removeStamp(stampFile);
  // Output of a source that is gone must go too: a deleted migration would still be found and run.
  const isStillThere = file => current.files.includes(file);
  if (!previous?.files.every(isStillThere)) emptyOutput();
  await compileAndBundle(current.files.filter(isCompiled));
  writeStamp(stampFile, current);
}

async function compileAndBundle(files) {
  const child = fork(inProject('scripts', 'lib', 'build-child.mjs'));
  const ended = once(child, 'exit');
  child.send(files);
  const [answer] = await Promise.race([once(child, 'message'), ended.then(() => [undefined])]);
  await ended;
  if (!answer) throw new SetupError('The build ended before it was done: start again.', '');
  if (answer.failed) throw new SetupError(answer.failed, answer.reason);
}

/** The folder itself stays, which may be mounted elsewhere for a service that runs, and so does the bundle, which clears itself. */
function emptyOutput() {
  mkdirSync(inProject('dist'), { recursive: true });
  for (const entry of readdirSync(inProject('dist')))
    if (entry !== 'bundle') rmSync(inProject('dist', entry), { recursive: true, force: true });
}

function isBuilt(current) {
  return readStamp(stampFile)?.hash === current.hash && existsSync(inProject('dist', 'bundle', 'main.js'));
}

const isCompiled = file =>
  /^(src|libs)\/.*(?<!\.d)\.ts$/.test(file) && !/\.fixture\.ts$|^libs\/[^/]+\/testing\//.test(file);

function sources() {
  const files = filesBelow(...inputs).filter(file => !file.endsWith('.spec.ts'));
  return { files, hash: hashOf(...files.flatMap(file => [file, readFileSync(inProject(file))])) };
}
