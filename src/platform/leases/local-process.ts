import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** How processes of one machine know each other: a later process with the same number has another `started`. */
export interface LocalProcess {
  /** The same for processes that see each other's numbers; null where that is not known. */
  readonly machine: string | null;
  readonly pid: number;
  /** Null where the system does not say. */
  readonly started: string | null;
}

const isLinux = process.platform === 'linux';

export function thisProcess(): LocalProcess {
  return { machine: machine(), pid: process.pid, started: startOf(process.pid) };
}

/** Whether a process of this machine has ended; false where that is not known. */
export function hasEnded({ pid, started }: Pick<LocalProcess, 'pid' | 'started'>): boolean {
  if (!exists(pid)) return true;
  const now = startOf(pid);
  return now !== null && started !== null && now !== started;
}

/** On Linux the boot and the namespace of process numbers: containers may share a host name, and see only their own. */
function machine(): string | null {
  if (!isLinux) return hostname();
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return null;
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** In the kernel's ticks. A zombie never started. */
function startOf(pid: number): string | null {
  if (!isLinux) return null;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses, which may hold blanks and parentheses.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? 'never' : (fields[18] ?? null);
  } catch {
    return null;
  }
}
