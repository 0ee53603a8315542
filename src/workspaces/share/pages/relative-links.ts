import { normalizePath, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { addressOf } from './crumbs.js';
import type { Resolve } from './markdown.js';

/** Where a text lies that has relative links. */
export interface Beside {
  /** The address of the share. */
  readonly home: string;
  /** The text's folder, below what is shared. */
  readonly folder: string;
  /** A file that is shared alone has nothing beside it. */
  readonly hasNeighbours: boolean;
}

/** Relative addresses in a text lead to what is shared beside it. */
export function resolveFrom({ home, folder, hasNeighbours }: Beside): Resolve {
  return address => {
    if (!hasNeighbours || address === '') return undefined;
    const base = `http://share/${folder === '' ? '' : `${folder.split('/').map(encodeURIComponent).join('/')}/`}`;
    if (!URL.canParse(address, base)) return undefined;
    const path = new URL(address, base).pathname.slice(1);
    try {
      return addressOf(home, normalizePath(decodeURIComponent(path)));
    } catch (error) {
      if (error instanceof URIError || error instanceof WorkspaceFsError) return undefined;
      throw error;
    }
  };
}
