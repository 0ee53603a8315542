import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { processIdentity } from './process-identity.js';

interface Owner {
  pid: number;
  /** See {@link processIdentity}. */
  identity: string;
  socketFolder: string;
}

export interface OwnerLock {
  /** What the previous owner left behind, if it died without letting go. */
  abandoned: { socketFolder: string } | undefined;
  release(): void;
}

/**
 * One live process owns a data folder. The lock is a file that names its owner, so that the lock of a dead
 * owner is recognised, also when the process number has been given away again.
 */
export function lockForThisProcess(file: string, socketFolder: string): OwnerLock {
  const owner: Owner = { pid: process.pid, identity: processIdentity(process.pid) ?? '', socketFolder };
  let abandoned: Owner | undefined;
  while (!publish(file, owner)) {
    const holder = readOwner(file);
    if (holder && isAlive(holder)) throw inUse(file, holder);
    if (holder) abandoned = holder;
    setAside(file, holder);
  }
  return {
    abandoned,
    release() {
      const holder = readOwner(file);
      if (holder?.pid === owner.pid && holder.identity === owner.identity) rmSync(file, { force: true });
    },
  };
}

/** The live process that holds a lock. */
export function ownerOf(file: string): { pid: number; socketFolder: string } | undefined {
  const holder = readOwner(file);
  return holder && isAlive(holder) ? holder : undefined;
}

/** Whole or not at all: the content is written first, the name is given by link(2), which never overwrites. */
function publish(file: string, owner: Owner): boolean {
  const draft = `${file}.${randomUUID()}`;
  try {
    writeFileSync(draft, JSON.stringify(owner), { mode: 0o644 });
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Removes a dead owner's lock. Two processes may judge the same lock dead; the slower one must not remove
 * the lock the faster one has just taken, so it looks at what it took hold of and gives it back.
 */
function setAside(file: string, judged: Owner | undefined): void {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const taken = readOwner(aside);
  if (taken?.pid !== judged?.pid || taken?.identity !== judged?.identity) giveBack(aside, file);
  rmSync(aside, { force: true });
}

function giveBack(aside: string, file: string): void {
  try {
    linkSync(aside, file);
  } catch (error) {
    // A third process took the name in between; of these two, PostgreSQL's own lock now decides.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function readOwner(file: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function isAlive(owner: Owner): boolean {
  return processIdentity(owner.pid) === owner.identity;
}

function inUse(file: string, { pid }: Owner): EmbeddedPostgresError {
  const folder = file.replace(/\.lock$/, '');
  return new EmbeddedPostgresError(
    `The database folder ${folder} is in use by the running process ${pid}: stop that process, or give this one another data folder.`,
  );
}
