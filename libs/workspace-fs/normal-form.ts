import { isWorkspaceError } from './errors.js';
import { componentsOf, joinPath } from './path.js';
import type { Tree } from './tree.js';

interface Resolved {
  /** As far as it is there, the path as it is there. */
  readonly path: string;
  readonly isThere: boolean;
}

const BEYOND_ASCII = /[^\0-\x7f]/;

/**
 * Resolves a path whose names may be there in another form of Unicode: macOS decomposes letters with accents (NFD), others
 * compose them (NFC). A name that is there as it is given goes first; of several other forms none is meant. What is not there is
 * composed.
 */
export async function inFormThere(tree: Tree, path: string): Promise<Resolved> {
  if (!BEYOND_ASCII.test(path)) return { path, isThere: true };
  const names = componentsOf(path);
  let at = '';
  for (const [depth, name] of names.entries()) {
    const found = await nameThere(tree, at, name);
    if (found === undefined)
      return { path: names.slice(depth).map(toNfc).reduce(joinPath, at), isThere: false };
    at = joinPath(at, found);
  }
  return { path: at, isThere: true };
}

async function nameThere(tree: Tree, folder: string, name: string): Promise<string | undefined> {
  try {
    const names = await tree.inFolder(folder, async opened => opened.names());
    const wanted = toNfc(name);
    const same = names.flatMap(({ text }) => (text !== null && toNfc(text) === wanted ? [text] : []));
    if (same.includes(name)) return name;
    return same.length === 1 ? same[0] : undefined;
  } catch (error) {
    if (isWorkspaceError(error, 'not_found', 'not_directory', 'symlink', 'denied')) return undefined;
    throw error;
  }
}

const toNfc = (text: string): string => (BEYOND_ASCII.test(text) ? text.normalize('NFC') : text);
