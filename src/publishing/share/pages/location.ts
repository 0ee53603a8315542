import { type Html, html } from '#libs/html/index.js';
import { plainName } from '#libs/plain-text/index.js';
import type { Resolve } from '#libs/text-preview/index.js';
import { normalizePath, WorkspaceFsError } from '#libs/workspace-fs/index.js';

/** Where a page of a share stands: the share's own address, its name, and the way down from there. */
export interface Location {
  /** `/s/{token}` */
  readonly home: string;
  readonly name: string;
  /** Below what is shared; empty for itself. */
  readonly within: string;
}

export function toAddress(home: string, within: string): string {
  return within === '' ? home : `${home}/path/${within.split('/').map(encodeURIComponent).join('/')}`;
}

export const nameOf = ({ name, within }: Location): string => plainName(within) || plainName(name);

export function crumbs({ home, name, within }: Location): Html {
  const steps = within === '' ? [] : within.split('/');
  if (steps.length === 0) return html``;
  const above = [name, ...steps.slice(0, -1)].map(
    (step, depth) =>
      html`<li><a href="${toAddress(home, steps.slice(0, depth).join('/'))}">${plainName(step)}</a></li>`,
  );
  return html`<nav aria-label="Breadcrumb"><ol class="crumbs">${above}<li aria-current="page">${plainName(within)}</li></ol></nav>`;
}

/** Where a text lies that has relative links. */
export interface Beside {
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
      return toAddress(home, normalizePath(decodeURIComponent(path)));
    } catch (error) {
      if (error instanceof URIError || error instanceof WorkspaceFsError) return undefined;
      throw error;
    }
  };
}
