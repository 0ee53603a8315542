import type { BigIntStats } from 'node:fs';
import { throwIfAborted } from './abort.js';
import { type Destination, refuseUnlessFile } from './destination.js';
import { type Entry, etagOf, toEntry } from './entry.js';
import { isWorkspaceError, WorkspaceFsError } from './errors.js';
import { type NewFile, tooLarge } from './new-file.js';
import { quotePath } from './quote-path.js';
import { StagedFile } from './staged-file.js';
import { refuseRoot, type Tree } from './tree.js';

export type FileSource = string | Uint8Array | AsyncIterable<Uint8Array>;

/** On what a write depends. */
export interface WriteConditions {
  /** Write only if the file has this etag; '*': only if it exists. */
  ifMatch?: string;
  /** Write only if nothing is there. */
  ifNoneMatch?: '*';
}

export interface WriteOptions extends WriteConditions {
  /** Whether those who may read it may run it; default: as before, and a new file may not be run. */
  executable?: boolean;
  signal?: AbortSignal;
  /** The exact length of the source where it is known: refused at once if too large, `aborted` if not met. */
  expectedBytes?: number;
  /** Awaited before anything else is done, with what is at the path (null: nothing); may refuse, and gives the conditions. */
  conditions?: (before: Entry | null) => Promise<WriteConditions>;
  /** Runs the write, once it is known how many files and folders it makes; may refuse. */
  around?: (made: number, write: () => Promise<Written>) => Promise<Written>;
  /** Awaited when all is ready and nothing can be seen yet; if it fails, nothing is written. */
  beforePlacing?: BeforePlacing;
}

/** Gets what will be at the path, and what is there now. */
export type BeforePlacing = (after: Entry, before: Entry | null) => Promise<void>;

export interface Written {
  entry: Entry;
  created: boolean;
}

export const NEW_FILE_MODE = 0o644n;

type Exclusion = (path: string, work: () => Promise<Written>) => Promise<Written>;

/**
 * Writes a whole file, which appears at once and durably, or not at all. `exclusion` guards the last step: the
 * check of the conditions and the rename.
 */
export async function write(
  tree: Tree,
  path: string,
  source: FileSource,
  given: WriteOptions,
  exclusion: Exclusion = (at, work) => tree.alone(at, work),
): Promise<Written> {
  refuseRoot(path);
  const { maxFileBytes, owner } = tree.options;
  if ((given.expectedBytes ?? sizeOf(source)) > maxFileBytes) throw tooLarge(path, maxFileBytes);
  return tree.toDestination(path, async destination => {
    const before = await destination.current();
    const { conditions, around } = given;
    const options = conditions ? { ...given, ...(await conditions(before && toEntry(path, before))) } : given;
    const writing = () => {
      checkConditions(before, path, options);
      tree.options.beforeChange?.();
      return StagedFile.use(destination, maxFileBytes, async staged => {
        await fill(staged.file, source, path, options);
        const mode = modeFor(before?.mode ?? NEW_FILE_MODE, options.executable);
        await together(staged.file.finish(owner, mode), announce(staged, destination, options));
        return exclusion(path, async () => {
          await destination.folder();
          const current = await destination.current();
          checkConditions(current, path, options);
          throwIfAborted(options.signal, path);
          const stats = await place(staged, path, options);
          return { entry: toEntry(path, stats), created: current === null };
        });
      });
    };
    return around ? around(destination.missingFolders + (before ? 0 : 1), async () => writing()) : writing();
  });
}

/** 0 where it is not known yet. */
function sizeOf(source: FileSource): number {
  if (typeof source === 'string') return Buffer.byteLength(source);
  return source instanceof Uint8Array ? source.byteLength : 0;
}

async function announce(
  { file }: StagedFile,
  destination: Destination,
  { beforePlacing, ifNoneMatch }: WriteOptions,
): Promise<void> {
  if (!beforePlacing) return;
  const { path } = destination;
  // With that condition there is nothing, or nothing is written.
  const current = ifNoneMatch ? null : await destination.current();
  await beforePlacing(toEntry(path, file.stats()), current && toEntry(path, current));
}

/** Both are over when it resolves or rejects: neither may go on with what is cleaned up. */
async function together(one: Promise<void>, other: Promise<void>): Promise<void> {
  for (const outcome of await Promise.allSettled([one, other]))
    if (outcome.status === 'rejected') throw outcome.reason;
}

function modeFor(mode: bigint, executable: boolean | undefined): bigint {
  if (executable === undefined) return mode;
  const others = mode & ~0o111n;
  return executable ? others | ((mode & 0o444n) >> 2n) : others;
}

async function fill(file: NewFile, source: FileSource, path: string, options: WriteOptions): Promise<void> {
  const { signal, expectedBytes } = options;
  throwIfAborted(signal, path);
  if (typeof source === 'string') await file.append(Buffer.from(source));
  else if (source instanceof Uint8Array) await file.append(source);
  else await file.appendAll(source, signal);
  if (expectedBytes !== undefined && file.size !== expectedBytes) {
    const message = `${quotePath(path)} was not written: ${file.size} of ${expectedBytes} bytes arrived`;
    throw new WorkspaceFsError('aborted', path, message);
  }
}

function checkConditions(current: BigIntStats | null, path: string, options: WriteOptions): void {
  if (options.ifNoneMatch && current) throw alreadyThere(path);
  if (current) refuseUnlessFile(current, path);
  const { ifMatch } = options;
  if (ifMatch === undefined) return;
  if (!current) {
    const message = `${quotePath(path)} does not exist any more, so it was not overwritten`;
    throw new WorkspaceFsError('precondition_failed', path, message);
  }
  if (ifMatch !== '*' && ifMatch !== etagOf(current)) throw new WorkspaceFsError('precondition_failed', path);
}

async function place(staged: StagedFile, path: string, options: WriteOptions): Promise<BigIntStats> {
  try {
    return await staged.place(options.ifNoneMatch === undefined);
  } catch (error) {
    throw isWorkspaceError(error, 'exists') && options.ifNoneMatch ? alreadyThere(path) : error;
  }
}

export function alreadyThere(path: string): WorkspaceFsError {
  return new WorkspaceFsError('precondition_failed', path, `${quotePath(path)} already exists`);
}
