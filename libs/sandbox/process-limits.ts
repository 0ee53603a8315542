import { readFileSync } from 'node:fs';
import type { SandboxLimits } from './limits.js';
import { countTasks } from './process-tree.js';

/** Names as prlimit(1) takes them, each with its line in /proc/self/limits. */
const kernelNames = {
  core: 'Max core file size',
  nofile: 'Max open files',
  memlock: 'Max locked memory',
  msgqueue: 'Max msgqueue size',
  fsize: 'Max file size',
  cpu: 'Max cpu time',
  nproc: 'Max processes',
} as const;

type Resource = keyof typeof kernelNames;

/** No core dumps in the workspace; descriptors, locked memory and message queues as ordinary programs need them. */
const fixed = { core: 0, nofile: 1024, memlock: 65_536, msgqueue: 0 };

/** What prlimit(1) must be told to confine a command and its descendants. */
export function prlimitArguments(limits: SandboxLimits, processes: number | undefined): string[] {
  const wanted: Partial<Record<Resource, number>> = { ...fixed, fsize: limits.fileBytes, nproc: processes };
  const bounds = Object.entries(wanted).flatMap(([name, value]) => argument(name as Resource, value));
  // The kernel warns with SIGXCPU at the first number and kills at the second.
  return [...bounds, ...argument('cpu', limits.cpuSeconds, 1)];
}

function argument(resource: Resource, wanted = Number.POSITIVE_INFINITY, hardExtra = 0): string[] {
  const ceiling = hardLimits()[resource] ?? Number.POSITIVE_INFINITY;
  const soft = Math.min(wanted, ceiling);
  if (!Number.isFinite(soft)) return [];
  return [`--${resource}=${soft}:${Math.min(wanted + hardExtra, ceiling)}`];
}

let knownHardLimits: Partial<Record<Resource, number>> | undefined;

/** Hard limits of this process; an ordinary user can only go below them. */
function hardLimits(): Partial<Record<Resource, number>> {
  if (knownHardLimits) return knownHardLimits;
  const text = readFileSync('/proc/self/limits', 'utf8');
  const entries = Object.entries(kernelNames).map(([resource, name]) => {
    const hard = new RegExp(`^${name} +\\S+ +(\\d+)`, 'm').exec(text)?.[1];
    return [resource, hard === undefined ? Number.POSITIVE_INFINITY : Number(hard)];
  });
  knownHardLimits = Object.fromEntries(entries) as Partial<Record<Resource, number>>;
  return knownHardLimits;
}

/** Room for what the same user starts elsewhere after the count. */
const SLACK = 64;
const COUNT_VALID_MS = 1000;
const counts = new Map<number, { tasks: number; at: number }>();

/**
 * The process limit for hosts without control groups. The kernel holds it against all tasks of the user, so
 * those that he has already are added, or a busy user could start nothing.
 */
export function processBound(limits: SandboxLimits, uid: number): number {
  let count = counts.get(uid);
  if (!count || performance.now() - count.at > COUNT_VALID_MS) {
    count = { tasks: countTasks(uid), at: performance.now() };
    counts.set(uid, count);
  }
  return limits.processes + count.tasks + SLACK;
}
