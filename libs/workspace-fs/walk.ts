import type { Directory } from './directory.js';
import { byteOrderKey } from './directory-name.js';
import { type Entry, toEntry } from './entry.js';
import { isWorkspaceError } from './errors.js';
import { componentsOf, isTemporaryName, joinPath, MAX_COMPONENTS, MAX_PATH_BYTES } from './path.js';

/** How many entries are looked at ahead of the one that is handed out: few at first, as few may be wanted. */
const FIRST_LOOK = 64;
const WIDEST_LOOK = 1024;

export interface WalkOptions {
  /** Told of each folder, open, before anything in it is looked at. */
  arrive?: (folder: Directory) => Promise<void>;
  /** Which folders to go into; default none. */
  enter?: (entry: Entry) => boolean;
  /** Only what comes after this path. */
  after?: string;
  /** Show temporary files as well. */
  temporaries?: boolean;
}

/** Entries of one folder that follow each other; the folder is open until the next batch is asked for. */
export interface Batch {
  folder: Directory;
  found: Found[];
}

export interface Found {
  name: string;
  entry: Entry;
}

/** A name below the start of the walk; `key` is its whole path in byte order form. */
interface Candidate {
  key: string;
  name: string;
}

/**
 * What is in a folder, and below it, in the byte order of whole paths ('a', 'a-b', 'a/b'), so that a walk can go on
 * after any path. Links are shown and never followed. Left out is what no path can name: names that are not UTF-8,
 * more than 100 folders down, more than 4096 bytes long. What vanishes or cannot be read meanwhile is passed over.
 */
export async function* walk(folder: Directory, options: WalkOptions): AsyncGenerator<Batch> {
  await options.arrive?.(folder);
  const candidates = await candidatesIn(folder, options);
  // Folders still to be entered: 'a-b' comes before 'a/b'. The next one is always the last.
  const waiting: Candidate[] = [];
  let width = FIRST_LOOK;
  for (let at = 0; at < candidates.length; ) {
    const looked = await lookAt(folder, candidates.slice(at, at + width));
    at += width;
    width = Math.min(width * 2, WIDEST_LOOK);
    let found: Found[] = [];
    for (const { candidate, entry } of looked) {
      while (isBefore(waiting.at(-1), candidate)) {
        if (found.length > 0) yield { folder, found };
        found = [];
        yield* walkInto(folder, waiting.pop(), options);
      }
      if (isAfter(candidate, options)) found.push({ name: candidate.name, entry });
      if (isEntered(folder, entry, options)) waiting.push({ ...candidate, key: `${candidate.key}/` });
    }
    if (found.length > 0) yield { folder, found };
  }
  while (waiting.length > 0) yield* walkInto(folder, waiting.pop(), options);
}

async function candidatesIn(folder: Directory, options: WalkOptions): Promise<Candidate[]> {
  const prefix = folder.path === '' ? '' : `${byteOrderKey(folder.path)}/`;
  const after = options.after === undefined ? undefined : byteOrderKey(options.after);
  const candidates: Candidate[] = [];
  for (const { key: own, text } of await folder.names()) {
    const key = prefix + own;
    if (text === null || key.length > MAX_PATH_BYTES) continue;
    if (after !== undefined && !reachesBeyond(key, after)) continue;
    if (!options.temporaries && isTemporaryName(text)) continue;
    candidates.push({ key, name: text });
  }
  return candidates.sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Whether what has this key, or anything below it, comes after a path. */
function reachesBeyond(key: string, after: string): boolean {
  const below = `${key}/`;
  return below > after || after.startsWith(below);
}

interface Looked {
  candidate: Candidate;
  entry: Entry;
}

async function lookAt(folder: Directory, candidates: Candidate[]): Promise<Looked[]> {
  const stats = await folder.findAll(candidates.map(({ name }) => name));
  return candidates.flatMap((candidate, at) => {
    const found = stats[at];
    return found ? [{ candidate, entry: toEntry(joinPath(folder.path, candidate.name), found) }] : [];
  });
}

async function* walkInto(
  parent: Directory,
  subfolder: Candidate | undefined,
  options: WalkOptions,
): AsyncGenerator<Batch> {
  const folder = subfolder && (await unlessOutOfReach(parent.directory(subfolder.name)));
  if (!folder) return;
  try {
    yield* walk(folder, options);
  } finally {
    await folder.close();
  }
}

/** Null where something is gone, was replaced by something else, or gives the service no permission. */
async function unlessOutOfReach<T>(reach: Promise<T>): Promise<T | null> {
  try {
    return await reach;
  } catch (error) {
    if (isWorkspaceError(error, 'not_found', 'not_directory', 'symlink', 'denied')) return null;
    throw error;
  }
}

function isBefore(waiting: Candidate | undefined, candidate: Candidate): boolean {
  return waiting !== undefined && waiting.key < candidate.key;
}

function isAfter(candidate: Candidate, options: WalkOptions): boolean {
  return options.after === undefined || candidate.key > byteOrderKey(options.after);
}

function isEntered(folder: Directory, entry: Entry, options: WalkOptions): boolean {
  if (entry.type !== 'directory' || !options.enter?.(entry)) return false;
  return componentsOf(folder.path).length + 1 < MAX_COMPONENTS;
}
