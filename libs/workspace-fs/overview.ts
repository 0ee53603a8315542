import { byteOrderKey } from './directory-name.js';
import { type BelowOptions, eachBelow, type Seen } from './find.js';
import { Foremost } from './foremost.js';
import { parentOf } from './path.js';
import type { Tree } from './tree.js';

/** What is below a folder, all the way down. */
export interface Contents {
  files: number;
  folders: number;
  bytes: number;
}

export interface OverviewOptions extends BelowOptions {
  /** The most that is shown. */
  limit: number;
  /** How many levels of folders are looked into; default all. */
  depth?: number;
}

export interface Overview {
  /** What is shown, in the order of paths; `holds` of a folder that is not shown in full. */
  readonly entries: { readonly path: string; readonly holds?: Contents }[];
  readonly total: Contents;
}

interface Folder extends Contents {
  /** What it holds itself. */
  own: number;
  /** The folders among that. */
  readonly below: string[];
}

/**
 * A tree that has room for so much: folder after folder is shown in full, those at the top first, as long as all of it fits;
 * of the others it is told what they hold. Nothing is cut off in the middle but what is in the folder itself.
 */
export async function overview(tree: Tree, start: string, options: OverviewOptions): Promise<Overview> {
  const { limit, depth = Number.POSITIVE_INFINITY } = options;
  const folders = await count(tree, start, options);
  const root = folders.get(start) ?? newFolder();
  const open = opened(start, folders, limit, depth);
  const shown = new Foremost<{ path: string; key: string; isFile: boolean }>(limit, (a, b) =>
    // Where not even the folder itself fits, its folders say more than its files.
    a.isFile === b.isFile || root.own <= limit ? (a.key < b.key ? -1 : 1) : a.isFile ? 1 : -1,
  );
  await eachBelow(tree, start, again(options), ({ path, type }) => {
    if (open.has(parentOf(path))) shown.add({ path, key: byteOrderKey(path), isFile: type !== 'directory' });
  });
  const found = shown.all().sort((a, b) => (a.key < b.key ? -1 : 1));
  const entries = found.map(({ path, isFile }) => {
    const folder = isFile || open.has(path) ? undefined : folders.get(path);
    return folder && folder.own > 0 ? { path, holds: contentsOf(folder) } : { path };
  });
  return { entries, total: contentsOf(root) };
}

/** Rules that were read are read again, as the files may have changed; that is no harm. */
const again = ({ seen, ignored, ignoreFiles, glob, signal }: OverviewOptions): BelowOptions => ({
  seen,
  ignored,
  ignoreFiles,
  glob,
  signal,
});

const newFolder = (): Folder => ({ files: 0, folders: 0, bytes: 0, own: 0, below: [] });
const contentsOf = ({ files, folders, bytes }: Folder): Contents => ({ files, folders, bytes });

async function count(tree: Tree, start: string, options: BelowOptions): Promise<Map<string, Folder>> {
  const folders = new Map<string, Folder>();
  const folderAt = (path: string): Folder => {
    const known = folders.get(path);
    if (known) return known;
    const made = newFolder();
    folders.set(path, made);
    return made;
  };
  await eachBelow(tree, start, options, ({ path, type, size }: Seen) => {
    const isFolder = type === 'directory';
    if (isFolder) folderAt(path);
    for (let at = parentOf(path), isOwn = true; ; at = parentOf(at), isOwn = false) {
      const folder = folderAt(at);
      if (isOwn) folder.own++;
      if (isOwn && isFolder) folder.below.push(path);
      if (isFolder) folder.folders++;
      else folder.files++;
      folder.bytes += size;
      if (at === start) return;
    }
  });
  return folders;
}

/** Those that are shown in full: level by level, of each the smaller ones first. */
function opened(
  start: string,
  folders: ReadonlyMap<string, Folder>,
  limit: number,
  depth: number,
): Set<string> {
  const open = new Set([start]);
  const ownOf = (path: string) => folders.get(path)?.own ?? 0;
  let room = limit - ownOf(start);
  let level = [start];
  for (let at = 1; room > 0 && at < depth && level.length > 0; at++) {
    const next = level
      .flatMap(path => folders.get(path)?.below ?? [])
      .sort((a, b) => ownOf(a) - ownOf(b) || (a < b ? -1 : 1));
    level = [];
    for (const path of next) {
      if (ownOf(path) > room) break;
      room -= ownOf(path);
      open.add(path);
      level.push(path);
    }
  }
  return open;
}
