import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isGone, thisService } from './service-process.js';

/** Names of {@link scratchFolder}: where the process runs, its number and its start. */
const NAME = /^(?:sandbox|atelier)-[a-z]+-([0-9a-f]{8})-(\d+)-(\d*)-[A-Za-z0-9]{6}$/;
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
  const [host = '', space = '', pid, started] = thisService().split('/');
  return mkdtemp(join(parent, `${kind}-${placeOf(host, space)}-${pid}-${started}-`));
}

/** What cannot be removed now, as when another service is about it too, is left to the next start. */
async function removeFoldersOfTheDead(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  const [host = '', space = ''] = thisService().split('/');
  const dead = names.filter(name => {
    const [, place, pid, started] = NAME.exec(name) ?? [];
    return place === placeOf(host, space) && isGone([host, space, pid, started].join('/'));
  });
  await Promise.allSettled(dead.map(name => rm(join(parent, name), { recursive: true, force: true })));
}

/** Short, as sockets stand in such folders: their paths have 107 bytes at most. */
const placeOf = (host: string, space: string): string =>
  createHash('sha256').update(`${host}/${space}`).digest('hex').slice(0, 8);
