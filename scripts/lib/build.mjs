import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { exclusively } from './exclusive.mjs';
import { inProject, projectDir } from './project.mjs';
import { runLogged } from './run-logged.mjs';
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
  'package.json',
  'package-lock.json',
];

/** Compiles the project unless dist already holds what these sources give. */
export async function requireBuild({ node, env }) {
  if (isBuilt(sources())) return;
  await exclusively(`build ${projectDir}`, async () => {
    const current = sources();
    if (!isBuilt(current)) await stage('Building', () => build(current, { node, env }));
  });
}

async function build(current, { node, env }) {
  const previous = readStamp(stampFile);
  removeStamp(stampFile);
  // Output of a source that is gone must go too: a deleted migration would still be found and run.
  const isStillThere = file => current.files.includes(file);
  if (!previous?.files.every(isStillThere)) emptyOutput();
  const nest = inProject('node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
  const { ok, output } = await runLogged('build', node, [nest, 'build'], { env });
  if (!ok)
    throw new SetupError(
      'The project does not compile: correct what is shown above and start again.',
      output,
    );
  writeStamp(stampFile, current);
}

/** The folder itself stays: it may be mounted elsewhere for a service that runs. */
function emptyOutput() {
  mkdirSync(inProject('dist'), { recursive: true });
  for (const entry of readdirSync(inProject('dist')))
    rmSync(inProject('dist', entry), { recursive: true, force: true });
}

function isBuilt(current) {
  return readStamp(stampFile)?.hash === current.hash && existsSync(inProject('dist', 'src', 'main.js'));
}

function sources() {
  const files = filesBelow(...inputs).filter(file => !file.endsWith('.spec.ts'));
  return { files, hash: hashOf(...files.flatMap(file => [file, readFileSync(inProject(file))])) };
}
