import { readFileSync } from 'node:fs';
import type { SandboxLimits } from './limits.js';
import { countTasks } from './process-tree.js';

/** Letters of the shell's `ulimit`, each with the resource's line in /proc/self/limits and the unit in bytes or one. */
const resources = {
  c: { name: 'Max core file size', unit: 512 }, // 512 by POSIX; bash takes 1024 unless it is called as sh
  f: { name: 'Max file size', unit: 512 },
  l: { name: 'Max locked memory', unit: 1024 },
  n: { name: 'Max open files', unit: 1 },
  t: { name: 'Max cpu time', unit: 1 },
  u: { name: 'Max processes', unit: 1 },
} as const;

type Letter = keyof typeof resources;

/** No core dumps in the workspace; locked memory as ordinary programs need it. */
const fixed = { c: 0, l: 65_536 };

/**
 * Shell commands that confine the shell, what it becomes, and all descendants.
 *
 * @param processes bound on the user's tasks, where no control group counts those of the command
 */
export function limitCommands(limits: SandboxLimits, processes: number | undefined): string {
  const bounds = { ...fixed, f: limits.fileBytes, n: limits.openFiles, u: processes };
  const commands = Object.entries(bounds).flatMap(([letter, wanted]) => bound(letter as Letter, wanted));
  // The kernel warns with SIGXCPU at the soft limit and kills at the hard one.
  commands.push(...bound('t', limits.cpuSeconds, '-S -'), ...bound('t', limits.cpuSeconds + 1, '-H -'));
  return commands.join('\n');
}

function bound(letter: Letter, wanted = Number.POSITIVE_INFINITY, kind = '-'): string[] {
  if (!Number.isFinite(wanted)) return [];
  const value = Math.floor(Math.min(wanted, hardLimits()[letter]) / resources[letter].unit);
  // Some shells (dash, busybox) say -p for what others (bash) call -u.
  if (letter === 'u') return [`ulimit -u ${value} 2>/dev/null || ulimit -p ${value}`];
  return [`ulimit ${kind}${letter} ${value}`];
}

let knownHardLimits: Record<Letter, number> | undefined;

/** Hard limits of this process; an ordinary user can only go below them. */
function hardLimits(): Record<Letter, number> {
  if (knownHardLimits) return knownHardLimits;
  const text = readFileSync('/proc/self/limits', 'utf8');
  const entries = Object.entries(resources).map(([letter, { name }]) => {
    const hard = new RegExp(`^${name} +\\S+ +(\\d+)`, 'm').exec(text)?.[1];
    return [letter, hard === undefined ? Number.POSITIVE_INFINITY : Number(hard)];
  });
  knownHardLimits = Object.fromEntries(entries) as Record<Letter, number>;
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
