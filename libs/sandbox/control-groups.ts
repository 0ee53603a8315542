import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { SandboxLimits } from './limits.js';

/** Where the kernel says which groups this process is in, and where their trees are mounted. */
export interface ControlGroupSources {
  membership: string;
  mounts: string;
}

const kernelSources: ControlGroupSources = {
  membership: '/proc/self/cgroup',
  mounts: '/proc/self/mountinfo',
};

type Controller = 'memory' | 'pids';

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
    for (const parent of parents) removeGroupsOfTheDead(parent.folder);
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

interface GroupFolder {
  path: string;
  version: 1 | 2;
  controllers: Controller[];
}

/** One command's group: in version 1 it is a folder in each controller's tree. */
export class ControlGroup {
  constructor(private readonly folders: GroupFolder[]) {}

  confine(limits: Pick<SandboxLimits, 'memoryBytes' | 'processes'>): void {
    for (const { path, version, controllers } of this.folders) {
      if (controllers.includes('memory')) limitMemory(path, version, limits.memoryBytes);
      // One more than asked for: the sandbox's own first process, which reaps the others. It and the shell
      // that becomes bwrap are members from the start.
      if (controllers.includes('pids')) limitProcesses(path, limits.processes + 2);
    }
  }

  /** Moves a process; its later children are born into the group. */
  async join(pid: number): Promise<void> {
    await Promise.all(this.folders.map(({ path }) => writeFile(join(path, 'cgroup.procs'), String(pid))));
  }

  /** Whether the kernel has killed a process of the group because its memory was used up. */
  ranOutOfMemory(): boolean {
    const folder = this.folders.find(one => one.controllers.includes('memory'));
    if (!folder) return false;
    const file = folder.version === 2 ? 'memory.events' : 'memory.oom_control';
    return /^oom_kill [1-9]/m.test(readFileSync(join(folder.path, file), 'utf8'));
  }

  /**
   * Removes the group, in the background: the kernel refuses while a killed process is still on its way out,
   * and tells nobody when it is gone. What is left after the last attempt goes when a service starts.
   */
  remove(attempts = 8, delayMs = 25): void {
    if (this.folders.length === 0 || attempts === 0) return;
    const attempt = (): void => {
      const busy = this.folders.filter(({ path }) => !removed(path));
      new ControlGroup(busy).remove(attempts - 1, delayMs * 2);
    };
    setTimeout(attempt, delayMs).unref();
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
  const child = spawn('/bin/sh', [], { stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = once(child, 'close');
  try {
    const group = new ControlGroup([makeFolder(parent, newName())]);
    try {
      group.confine({ memoryBytes: 2 ** 30, processes: 16 });
      await group.join(child.pid ?? 0);
    } finally {
      child.stdin.end();
      await ended;
      group.remove();
    }
    return true;
  } catch {
    return false; // whatever stands in the way, it stands there for every command
  } finally {
    child.stdin.end();
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

function limitProcesses(path: string, processes: number): void {
  if (Number.isFinite(processes)) writeFileSync(join(path, 'pids.max'), String(processes));
}

function limitMemory(path: string, version: 1 | 2, bytes: number): void {
  if (!Number.isFinite(bytes)) return;
  if (version === 1) {
    writeFileSync(join(path, 'memory.limit_in_bytes'), String(bytes));
    writeIfPresent(join(path, 'memory.memsw.limit_in_bytes'), String(bytes)); // memory and swap together
    return;
  }
  writeFileSync(join(path, 'memory.max'), String(bytes));
  writeIfPresent(join(path, 'memory.swap.max'), '0');
  writeIfPresent(join(path, 'memory.oom.group'), '1'); // one process too many ends all of them
}

/** Kernels without swap accounting lack some of the files. */
function writeIfPresent(path: string, value: string): void {
  try {
    writeFileSync(path, value, { flag: 'r+' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function removed(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EBUSY' || code === 'ENOTEMPTY') return false;
    if (code === 'ENOENT') return true;
    throw error;
  }
}

/** A service that was killed leaves empty groups behind. */
function removeGroupsOfTheDead(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid && !isAlive(Number(pid))) removed(join(folder, name));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
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
