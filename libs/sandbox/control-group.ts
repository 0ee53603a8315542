import { readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { killIfThere } from './kill.js';
import type { SandboxLimits } from './limits.js';

export type Controller = 'memory' | 'pids';

/** A folder of the kernel's that stands for a group, and what it counts. */
export interface GroupFolder {
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
      // Two more than asked for are members: bwrap itself, and the sandbox's first process, which reaps the others.
      if (controllers.includes('pids')) limitProcesses(path, limits.processes + 2);
    }
  }

  /** Moves a process; its later children are born into the group. */
  async join(pid: number): Promise<void> {
    await Promise.all(this.folders.map(({ path }) => writeFile(join(path, 'cgroup.procs'), String(pid))));
  }

  /** Whether the kernel has killed a process of the group because its memory was used up. */
  ranOutOfMemory(): boolean {
    return this.memoryKills() > 0;
  }

  /** How many processes the kernel has killed because the memory of the group was used up. */
  memoryKills(): number {
    return this.count(
      'memory',
      folder => (folder.version === 2 ? 'memory.events' : 'memory.oom_control'),
      'oom_kill',
    );
  }

  /** How many processes the kernel has refused because there were too many. */
  refusedProcesses(): number {
    return this.count('pids', () => 'pids.events', 'max');
  }

  private count(controller: Controller, fileOf: (folder: GroupFolder) => string, line: string): number {
    const folder = this.folders.find(one => one.controllers.includes(controller));
    const text = folder ? readIfPresent(join(folder.path, fileOf(folder))) : '';
    return Number(new RegExp(`^${line} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  }

  /** Kills all members and removes the group. */
  destroy(): void {
    for (const { path } of this.folders) if (!removeFolder(path)) killMembers(path);
    this.remove();
  }

  /**
   * Removes the group, in the background: the kernel refuses while a killed process is still on its way out,
   * and sends no notification when it is gone. What is left after the last attempt goes when a service starts.
   */
  remove(attempts = 8, delayMs = 25): void {
    if (this.folders.length === 0 || attempts === 0) return;
    const attempt = (): void => {
      const busy = this.folders.filter(({ path }) => !removeFolder(path));
      new ControlGroup(busy).remove(attempts - 1, delayMs * 2);
    };
    setTimeout(attempt, delayMs).unref();
  }
}

function killMembers(path: string): void {
  const members = readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n').map(Number);
  // The kernel writes 0 for a process of another pid namespace, which kill(2) would take for our own group.
  for (const pid of members) if (pid > 1) killIfThere(pid);
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

/** Kernels before 4.10 lack some of the files, and a group that was removed has none. */
function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENODEV') return '';
    throw error;
  }
}

/** False if the group still has members. */
function removeFolder(path: string): boolean {
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
