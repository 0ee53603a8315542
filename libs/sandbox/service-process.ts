import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isAlive } from './kill.js';

/** This process, told apart from every other on every machine, also from one that had its number before. */
export function thisService(): string {
  return nameOf(process.pid) ?? `${hostname()}//${process.pid}/`;
}

/**
 * Whether a process that {@link thisService} has named is known to be gone. Of processes on other machines and in other containers,
 * whose numbers mean nothing here, nothing is known.
 */
export function isGone(service: string): boolean {
  const [host, space, pid] = service.split('/');
  if (host !== hostname() || space !== processSpace()) return false;
  return nameOf(Number(pid)) !== service;
}

function nameOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return isAlive(pid) ? `${hostname()}//${pid}/` : undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // After the name, which may contain anything: field 3; the time of its start is field 22 (proc(5)).
    const startedAt = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return `${hostname()}/${processSpace()}/${pid}/${startedAt}`;
  } catch {
    return undefined; // no such process
  }
}

/** The number of the process namespace, in which pids have their meaning. */
function processSpace(): string {
  if (process.platform !== 'linux') return '';
  return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '';
}
