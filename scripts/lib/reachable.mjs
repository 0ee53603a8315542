import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { inProject, projectDir } from './project.mjs';

/**
 * Started as root, PostgreSQL and sandboxes run under accounts of their own. When the project lies in a folder
 * that is closed to them (under /root, say), they could reach neither their programs nor their data. Then the
 * service gets a mount namespace of its own in which the project also appears at a place all accounts may pass.
 * Nothing outside that namespace sees it, and no permission of an existing folder is changed.
 * @returns {(command: string[], env: NodeJS.ProcessEnv) => { command: string[], env: NodeJS.ProcessEnv }} how to run a
 *   command there
 */
export function reachablePlace() {
  const inPlace = (command, env) => ({ command, env });
  if (process.platform !== 'linux' || process.getuid() !== 0) return inPlace;
  const closed = closedFolders();
  if (closed.length === 0) return inPlace;
  if (spawnSync('unshare', ['--mount', '--propagation', 'private', 'true']).status !== 0) {
    console.log(
      `! ${closed[0]} is closed to the accounts that sandboxes run under when started as root, and this container may not mount: code cannot be run until the project is in a folder that others can pass, such as /opt.`,
    );
    return inPlace;
  }
  const place = makePlace();
  const mount = closed.includes(projectDir) ? mountEntries : mountWhole;
  return (command, env) => ({
    command: [
      'unshare',
      '--mount',
      '--propagation',
      'private',
      'sh',
      '-euc',
      mount,
      place,
      projectDir,
      ...command.map(part => atPlace(part, place)),
    ],
    env: { ...env, ATELIER_PROJECT_DIR: projectDir, PATH: pathAt(place, env.PATH ?? '') },
  });
}

/** A path in the project as it is called at the place. */
function atPlace(text, place) {
  return text.startsWith(`${projectDir}/`) ? place + text.slice(projectDir.length) : text;
}

function pathAt(place, folders) {
  const moved = folders.split(path.delimiter).map(folder => atPlace(folder, place));
  return moved.join(path.delimiter);
}

// In both scripts: $0 is the new place, $1 the project, and the rest is the command.
const mountWhole = 'mount --bind "$1" "$0"; cd "$0"; shift; exec "$@"';

/**
 * The project's own folder is closed as well, and would be so at any other place: an open folder takes its part,
 * and everything in it is mounted there one by one.
 */
const mountEntries = `
mount -t tmpfs -o mode=0755,size=1m atelier "$0"
for entry in "$1"/* "$1"/.[!.]*; do
  name="$0/\${entry##*/}"
  if [ -L "$entry" ]; then cp -P "$entry" "$name"; continue
  elif [ -d "$entry" ]; then mkdir "$name"
  elif [ -e "$entry" ]; then : > "$name"
  else continue; fi
  mount --bind "$entry" "$name"
done
cd "$0"; shift; exec "$@"`;

function closedFolders() {
  const folders = [];
  for (let folder = projectDir; ; folder = path.dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) folders.unshift(folder);
    if (folder === path.dirname(folder)) return folders;
  }
}

/**
 * The same place for each start of one project, so that absolute paths stay valid. It is not removed afterwards:
 * removing it would take the mount away from another start of the same project.
 */
function makePlace() {
  for (const name of ['.atelier', '.cache', 'coverage', 'dist'])
    mkdirSync(inProject(name), { recursive: true });
  const name = `atelier-${createHash('sha256').update(projectDir).digest('hex').slice(0, 12)}`;
  const base = isOwnFolder('/run') ? '/run' : '/tmp';
  const place = path.join(base, name);
  mkdirSync(place, { recursive: true, mode: 0o755 });
  if (!isOwnFolder(place)) throw new Error(`${place} is not a folder of root`);
  return place;
}

function isOwnFolder(folder) {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === 0 && (stat.mode & 0o022) === 0;
}
