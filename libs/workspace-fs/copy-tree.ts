import { throwIfAborted } from './abort.js';
import { forEachOf } from './concurrency.js';
import type { Owner } from './destination.js';
import type { Directory } from './directory.js';
import { nameOf } from './directory-name.js';
import { isWorkspaceError } from './errors.js';
import { NewFile } from './new-file.js';
import { OpenFile } from './open-file.js';
import { componentsOf, isTemporaryName, joinPath, MAX_COMPONENTS } from './path.js';

const PERMISSIONS = 0o777n;

/** What holds for every file of one copy. */
export interface CopyJob {
  owner: Owner | undefined;
  maxFileBytes: number;
  signal: AbortSignal | undefined;
  /** Filled on the way. */
  skipped: string[];
}

/** Copies what is in `source` into `target`, which no one else can enter until it is finished here. */
export async function copyTree(source: Directory, target: Directory, job: CopyJob): Promise<void> {
  const folders: string[] = [];
  await forEachOf(await source.names(), async entry => {
    throwIfAborted(job.signal, source.path);
    const { text } = entry;
    if (text !== null && isTemporaryName(text)) return;
    const stats = await source.find(nameOf(entry));
    if (text !== null && stats?.isFile()) await copyFile(source, text, target, job);
    else if (text !== null && stats?.isDirectory() && canHoldMore(source)) folders.push(text);
    else if (stats) skip(source, nameOf(entry).toString(), job);
  });
  for (const name of folders) await copyFolder(source, name, target, job);
  const { mode } = await source.stats();
  await target.giveTo(job.owner, Number(mode & PERMISSIONS));
  await target.sync();
}

/** Fills and finishes a new file with the bytes and permissions of another. */
export async function copyBytes(source: OpenFile, file: NewFile, job: CopyJob): Promise<void> {
  file.expect(source.entry.size);
  await file.appendAll(source.stream(), job.signal);
  await file.finish(job.owner, source.mode);
}

async function copyFile(source: Directory, name: string, target: Directory, job: CopyJob): Promise<void> {
  const original = await unlessReplaced(OpenFile.open(source, name));
  if (!original) return skip(source, name, job);
  try {
    const file = await NewFile.create(target, name, original.entry.path, job.maxFileBytes);
    try {
      await copyBytes(original, file, job);
    } finally {
      await file.close();
    }
  } finally {
    await original.close();
  }
}

async function copyFolder(source: Directory, name: string, target: Directory, job: CopyJob): Promise<void> {
  const from = await unlessReplaced(source.directory(name));
  if (!from) return skip(source, name, job);
  try {
    await target.makeDirectory(name);
    const to = await target.directory(name);
    try {
      await copyTree(from, to, job);
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

function canHoldMore(folder: Directory): boolean {
  return componentsOf(folder.path).length + 1 < MAX_COMPONENTS;
}

function skip(source: Directory, name: string, job: CopyJob): void {
  job.skipped.push(joinPath(source.path, name));
}

/** Null where something was removed, or replaced by something else, since it was looked at. */
async function unlessReplaced<T>(opening: Promise<T>): Promise<T | null> {
  try {
    return await opening;
  } catch (error) {
    const replaced = isWorkspaceError(
      error,
      'not_found',
      'symlink',
      'not_regular',
      'not_directory',
      'is_directory',
    );
    if (replaced) return null;
    throw error;
  }
}
