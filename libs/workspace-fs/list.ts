import type { Entry } from './entry.js';
import type { Tree } from './tree.js';
import { walk } from './walk.js';

const DEFAULT_LIMIT = 10_000;

export interface ListOptions {
  recursive?: boolean;
  /** The most entries in one answer; default 10,000. */
  limit?: number;
  /** The `next` of the answer before; any path will do, also one that is gone. */
  after?: string;
}

export interface Listing {
  entries: Entry[];
  /** What to give as `after` for what follows; null at the end. */
  next: string | null;
}

/** What is in a folder, in the byte order of paths. Links are listed as such. */
export function list(tree: Tree, path: string, options: ListOptions): Promise<Listing> {
  const limit = Math.max(1, options.limit ?? DEFAULT_LIMIT);
  return tree.inFolder(path, async folder => {
    const entries: Entry[] = [];
    const enter = () => options.recursive === true;
    for await (const { found } of walk(folder, { enter, after: options.after })) {
      for (const { entry } of found) {
        if (entries.length === limit) return { entries, next: entries.at(-1)?.path ?? null };
        entries.push(entry);
      }
    }
    return { entries, next: null };
  });
}
