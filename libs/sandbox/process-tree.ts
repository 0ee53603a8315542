import { readdirSync, readFileSync, statSync } from 'node:fs';

/** Everything below looks at processes that may end at any moment, which answers with these. */
const goneCodes = new Set(['ENOENT', 'ESRCH', 'ENOTDIR', 'EACCES']);

function orIfGone<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if (goneCodes.has((error as NodeJS.ErrnoException).code ?? '')) return otherwise;
    throw error;
  }
}

/** A process and all its descendants; in a pid namespace, from its first process, that is everyone. */
export function processTree(root: number): number[] {
  const tree = [root];
  for (const pid of tree) tree.push(...childrenOf(pid));
  return tree;
}

/** Those that a process started, or was handed. */
export function childrenOf(pid: number): number[] {
  const threads = orIfGone(() => readdirSync(`/proc/${pid}/task`), []);
  return threads.flatMap(thread => {
    const children = orIfGone(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'), '');
    return children.split(' ').filter(Boolean).map(Number);
  });
}

/** Memory that a process holds and the kernel cannot take back: anonymous, shared, swapped out, page tables. */
export function heldBytes(pid: number): number {
  const status = orIfGone(() => readFileSync(`/proc/${pid}/status`, 'utf8'), '');
  const fields = status.matchAll(/^(?:RssAnon|RssShmem|VmSwap|VmPTE):\s+(\d+) kB$/gm);
  return Array.from(fields).reduce((sum, field) => sum + Number(field[1]) * 1024, 0);
}

/** Bytes on a device in files that processes have open and that have no name any more, each once. */
export function unlinkedBytes(pids: readonly number[], device: bigint): number {
  const sizes = new Map<bigint, number>();
  for (const pid of pids)
    for (const fd of orIfGone(() => readdirSync(`/proc/${pid}/fd`), [])) {
      const stats = orIfGone(() => statSync(`/proc/${pid}/fd/${fd}`, { bigint: true }), undefined);
      if (stats?.isFile() && stats.nlink === 0n && stats.dev === device)
        sizes.set(stats.ino, Number(stats.blocks) * 512);
    }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

/** How many processes and threads a user has, zombies included. */
export function countTasks(uid: number): number {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name));
  return pids.reduce((sum, pid) => sum + orIfGone(() => tasksIfOwned(pid, uid), 0), 0);
}

function tasksIfOwned(pid: string, uid: number): number {
  return statSync(`/proc/${pid}`).uid === uid ? readdirSync(`/proc/${pid}/task`).length : 0;
}

/** What a process says in /proc/PID/stat (proc(5)), times in clock ticks; undefined if it is gone. */
interface Stat {
  parent: number;
  startedAt: number;
  cpuTicks: number;
}

function statOf(pid: number): Stat | undefined {
  const text = orIfGone(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), '');
  // The name of the program may hold anything, so fields are counted from behind it.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [, parent = 0] = fields;
  const spent = fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0);
  return text === '' ? undefined : { parent, startedAt: fields[19] ?? 0, cpuTicks: spent };
}

/** Linux counts process times in hundredths of a second (USER_HZ), whatever its own tick is. */
const TICK_MS = 10;

/** CPU time of processes and of their children that they have waited for, in milliseconds. */
export function cpuMs(pids: number[]): number {
  return pids.reduce((sum, pid) => sum + (statOf(pid)?.cpuTicks ?? 0) * TICK_MS, 0);
}

/** The number on the host of a process below `root` that has the number `inside` in a namespace; undefined if gone. */
export function outerNumber(root: number, inside: number): number | undefined {
  return processTree(root).find(pid => {
    const status = orIfGone(() => readFileSync(`/proc/${pid}/status`, 'utf8'), '');
    return Number(/^NSpid:.*\s(\d+)$/m.exec(status)?.[1]) === inside;
  });
}

/** A time of `performance.now()` as `startedAt` counts; where we are held up in between, an earlier one. */
function ticksAt(time: number): number {
  const [uptime = '0'] = readFileSync('/proc/uptime', 'utf8').split(' ');
  return Math.floor((Number(uptime) * 1000 - (performance.now() - time)) / TICK_MS);
}

/**
 * A process with all that it started since a time of `performance.now()`, also what has left it: what has been handed to
 * `root` and is not older than that, nor than the process.
 */
export function startedBy(pid: number, root: number, since: number): number[] {
  const own = statOf(pid);
  if (!own) return [];
  const began = Math.max(own.startedAt, ticksAt(since));
  // Times are hundredths of a second; between those of one time the numbers decide, which rise.
  const isLater = (one: number): boolean => {
    const startedAt = statOf(one)?.startedAt ?? 0;
    return startedAt > began || (startedAt === began && one > pid);
  };
  const orphans = childrenOf(root).filter(one => one !== own.parent && isLater(one));
  return [...processTree(pid), ...orphans.flatMap(processTree)];
}
