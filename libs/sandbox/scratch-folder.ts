import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isAlive } from './kill.js';

/** Names of {@link scratchFolder}: the machine, the process and its start. */
const NAME = /^(?:sandbox|atelier)-[a-z]+-([0-9a-f]{8})-(\d+)-(\d+)-[A-Za-z0-9]{6}$/;
const cleaned = new Map<string, Promise<void>>();

/**
 * A new folder, to be removed by who asked for it. Those of processes that were killed meanwhile are removed with the first
 * one that this process makes there.
 *
 * @param parent a folder of this machine's alone
 * @param kind what it is for; begins with `sandbox-` or `atelier-`
 */
export async function scratchFolder(
  parent: string,
  kind: `${'sandbox' | 'atelier'}-${string}`,
): Promise<string> {
  await mkdir(parent, { recursive: true });
  let clean = cleaned.get(parent);
  clean ??= removeFoldersOfTheDead(parent);
  cleaned.set(parent, clean);
  await clean;
  return mkdtemp(join(parent, `${kind}-${machine()}-${process.pid}-${startOf(process.pid)}-`));
}

/** What cannot be removed now, as when another service is about it too, is left to the next start. */
async function removeFoldersOfTheDead(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  const dead = names.filter(name => {
    const [, where, pid, start] = NAME.exec(name) ?? [];
    return where === machine() && !(isAlive(Number(pid)) && startOf(Number(pid)) === start);
  });
  await Promise.allSettled(dead.map(name => rm(join(parent, name), { recursive: true, force: true })));
}

/** The boot and the namespace of process numbers: who shares a folder from elsewhere knows nothing of processes here. */
function machine(): string {
  let where = hostname();
  try {
    where = `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    // Not on Linux.
  }
  return createHash('sha256').update(where).digest('hex').slice(0, 8);
}

/** When a process began, which tells it from one that had its number before; 0 where that is not known. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses, which may hold blanks and parentheses.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
  } catch {
    return '0';
  }
}
