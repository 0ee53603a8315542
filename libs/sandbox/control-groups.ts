import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ControlGroup, type Controller, type GroupFolder } from './control-group.js';
import { isAlive } from './kill.js';

/** Where the kernel says which groups this process is in, and where their trees are mounted. */
interface ControlGroupSources {
  membership: string;
  mounts: string;
}

const kernelSources: ControlGroupSources = {
  membership: '/proc/self/cgroup',
  mounts: '/proc/self/mountinfo',
};

/** A folder in which groups can be made, and what they count. */
interface Parent {
  version: 1 | 2;
  folder: string;
  controllers: Controller[];
}

/** The group names of dead services are recognised by this and the process id that follows. */
const PREFIX = 'sandbox-';

/**
 * Makes a control group for each command, in version 2 or 1 of the interface, where this process may: below
 * or beside the group it runs in itself. Nothing of the service's own group is changed.
 */
export class ControlGroups {
  private constructor(private readonly parents: Parent[]) {}

  /** What can be had here; the result may count memory, processes, both or nothing. */
  static async detect(sources: ControlGroupSources = kernelSources): Promise<ControlGroups> {
    const parents: Parent[] = [];
    for (const candidate of findParents(sources)) {
      const known = parents.flatMap(parent => parent.controllers);
      if (candidate.controllers.every(controller => known.includes(controller))) continue;
      if (await isUsable(candidate)) parents.push(candidate);
    }
    for (const parent of parents) removeGroupsOfTheDead(parent);
    return new ControlGroups(parents);
  }

  counts(controller: Controller): boolean {
    return this.parents.some(parent => parent.controllers.includes(controller));
  }

  /** A group without limits and members. */
  create(): ControlGroup {
    const name = newName();
    return new ControlGroup(this.parents.map(parent => makeFolder(parent, name)));
  }
}

function findParents({ membership, mounts }: ControlGroupSources): Parent[] {
  const own = readLines(membership).map(line => /^\d+:([^:]*):(.*)$/.exec(line));
  return readLines(mounts).flatMap(line => {
    const mount = /^\S+ \S+ \S+ (\S+) (\S+) .* - (cgroup2?) \S+ (\S+)$/.exec(line);
    const [, root = '', target = '', type, options = ''] = mount ?? [];
    const version = type === 'cgroup2' ? 2 : 1;
    const controllers = (['memory', 'pids'] as const).filter(
      one => version === 2 || options.split(',').includes(one),
    );
    const path = own.find(
      group => group && (version === 2 ? group[1] === '' : sharesName(group[1], controllers)),
    )?.[2];
    if (!type || path === undefined || controllers.length === 0) return [];
    const folder = join(target, relative(root, path));
    if (!folder.startsWith(target)) return []; // our group lies outside what is mounted here
    return version === 1 ? [{ version, folder, controllers }] : versionTwoParents(folder, target);
  });
}

function sharesName(list: string | undefined, controllers: Controller[]): boolean {
  return controllers.some(controller => list?.split(',').includes(controller));
}

/**
 * In version 2 a group with processes in it cannot share out controllers, unless it is the root; so besides
 * our own group its parent is tried, which is how systemd delegates (`Delegate=yes`, `DelegateSubgroup=`).
 */
function versionTwoParents(own: string, mountPoint: string): Parent[] {
  const folders = own === mountPoint ? [own] : [own, dirname(own)];
  return folders.map(folder => ({ version: 2, folder, controllers: sharedControllers(folder) }));
}

function sharedControllers(folder: string): Controller[] {
  const shared = readLines(join(folder, 'cgroup.subtree_control')).join(' ').split(' ');
  return (['memory', 'pids'] as const).filter(controller => shared.includes(controller));
}

/** The only sure test is to do it: folders may be read-only, foreign, or lack what we need. */
async function isUsable(parent: Parent): Promise<boolean> {
  try {
    const group = new ControlGroup([makeFolder(parent, newName())]);
    try {
      group.confine({ memoryBytes: 2 ** 30, processes: 16 });
      await joinOnTrial(group);
    } finally {
      group.remove();
    }
    return true;
  } catch {
    return false; // whatever stands in the way, it stands there for every command
  }
}

async function joinOnTrial(group: ControlGroup): Promise<void> {
  const child = spawn('/bin/sh', [], { stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = once(child, 'close');
  try {
    if (child.pid !== undefined) await group.join(child.pid);
  } finally {
    child.stdin.end();
    await ended;
  }
}

function newName(): string {
  return `${PREFIX}${process.pid}-${randomUUID().slice(0, 8)}`;
}

function makeFolder({ version, folder, controllers }: Parent, name: string): GroupFolder {
  const path = join(folder, name);
  mkdirSync(path);
  return { path, version, controllers };
}

/** A service that was killed leaves groups behind. Processes in them are orphaned and are killed. */
function removeGroupsOfTheDead({ folder, version, controllers }: Parent): void {
  for (const name of readdirSync(folder)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid && !isAlive(Number(pid)))
      new ControlGroup([{ path: join(folder, name), version, controllers }]).destroy();
  }
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
