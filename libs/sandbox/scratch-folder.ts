import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from './kill.js';

/** Names of {@link scratchFolder}, with the process that made them. */
const NAME = /^(?:sandbox|atelier)-[a-z]+-(\d+)-[A-Za-z0-9]{6}$/;
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
  let clean = cleaned.get(parent);
  clean ??= removeFoldersOfTheDead(parent);
  cleaned.set(parent, clean);
  await clean;
  return mkdtemp(join(parent, `${kind}-${process.pid}-`));
}

/** What cannot be removed now, as when another service is about it too, is left to the next start. */
async function removeFoldersOfTheDead(parent: string): Promise<void> {
  await mkdir(parent, { recursive: true });
  const dead = (await readdir(parent)).filter(name => {
    const pid = NAME.exec(name)?.[1];
    return pid !== undefined && !isAlive(Number(pid));
  });
  await Promise.allSettled(dead.map(name => rm(join(parent, name), { recursive: true, force: true })));
}
