import type { Directory } from './directory.js';
import { byteOrderKey } from './directory-name.js';
import type { Entry, EntryType } from './entry.js';
import { Foremost } from './foremost.js';
import { joinPath, parentOf } from './path.js';
import { type ScopeOptions, SearchScope } from './search-scope.js';
import type { Tree } from './tree.js';
import { Turn } from './turn.js';
import { walk } from './walk.js';

const DEFAULT_LIMIT = 200;

/** Something below a folder, as it was seen. */
export interface Seen {
  readonly path: string;
  readonly type: EntryType;
  /** Bytes of a file. */
  readonly size: number;
  /** When it was last changed, in milliseconds. */
  readonly modified: number;
}

export interface BelowOptions extends ScopeOptions {
  /** Everything below the folder, as something that may be wrong found out; absent: the folders are walked. */
  seen?: Iterable<Seen>;
  signal?: AbortSignal;
}

export interface FindOptions extends BelowOptions {
  /** Part of the name, whatever its case; beside `glob`. */
  name?: string;
  type?: 'file' | 'directory';
  /** `newest`: the last changed first; default `path`. */
  sort?: 'path' | 'newest';
  /** Only what comes after this path, in the order of paths. */
  after?: string;
  /** The most paths; default 200. */
  limit?: number;
}

export interface Finding {
  readonly paths: string[];
  /** How many there are, without regard to `after` and `limit`. */
  readonly total: number;
  /** Whether more come after these. */
  readonly more: boolean;
}

/** Finds what a folder holds by name and kind. */
export async function find(tree: Tree, start: string, options: FindOptions): Promise<Finding> {
  const { sort = 'path', limit = DEFAULT_LIMIT, type } = options;
  const after = sort === 'newest' || options.after === undefined ? '' : byteOrderKey(options.after);
  const name = options.name?.toLowerCase();
  const first = new Foremost<{ seen: Seen; key: string }>(limit + 1, sort === 'newest' ? byTime : byKey);
  let total = 0;
  await eachBelow(tree, start, options, seen => {
    if (type !== undefined && seen.type !== type) return;
    if (name !== undefined && !lastOf(seen.path).toLowerCase().includes(name)) return;
    total++;
    const key = byteOrderKey(seen.path);
    if (key > after) first.add({ seen, key });
  });
  const found = first.all();
  return { paths: found.slice(0, limit).map(({ seen }) => seen.path), total, more: found.length > limit };
}

type Keyed = { seen: Seen; key: string };
const byKey = (a: Keyed, b: Keyed): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
const byTime = (a: Keyed, b: Keyed): number => b.seen.modified - a.seen.modified || byKey(a, b);
const lastOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Tells of everything below a folder that is in the scope, in turns with other work. */
export async function eachBelow(
  tree: Tree,
  start: string,
  options: BelowOptions,
  tell: (seen: Seen) => void,
): Promise<void> {
  const { seen, signal } = options;
  const scope = new SearchScope(tree, start, options);
  const turn = new Turn(signal, start);
  if (!seen) return walkBelow(tree, start, scope, turn, tell);
  for (const one of seen) {
    await turn.pass();
    if (!scope.isReadyFor(one.path)) await scope.prepareFor(one.path);
    if (scope.holdsBelow(one)) tell(one);
  }
}

async function walkBelow(
  tree: Tree,
  start: string,
  scope: SearchScope,
  turn: Turn,
  tell: (seen: Seen) => void,
): Promise<void> {
  await scope.prepare(parentOf(start));
  const arrive = (folder: Directory) => scope.arrive(folder);
  const enter = (entry: Entry) => scope.enters(entry);
  await tree.inFolder(start, async root => {
    for await (const { folder, found } of walk(root, { arrive, enter })) {
      await turn.pass();
      for (const { name, entry } of found) {
        const { type, size, modified_at } = entry;
        const path = joinPath(folder.path, name);
        if (scope.holds(entry)) tell({ path, type, size, modified: Date.parse(modified_at) });
      }
    }
  });
}
