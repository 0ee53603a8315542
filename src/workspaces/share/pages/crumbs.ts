import { type Html, html } from '../../../platform/pages/index.js';
import { plainName } from '../../../platform/text/index.js';

/** Where a page of a share stands: the share's own address, its name, and the way down from there. */
export interface Place {
  /** `/s/{token}` */
  readonly home: string;
  /** The name of what is shared. */
  readonly name: string;
  /** Below what is shared; empty for itself. */
  readonly within: string;
}

export function addressOf(home: string, within: string): string {
  return within === '' ? home : `${home}/path/${within.split('/').map(encodeURIComponent).join('/')}`;
}

/** As it is shown. */
export const nameOf = ({ name, within }: Place): string => plainName(within) || plainName(name);

export function crumbs({ home, name, within }: Place): Html {
  const steps = within === '' ? [] : within.split('/');
  if (steps.length === 0) return html``;
  const above = [name, ...steps.slice(0, -1)].map(
    (step, depth) =>
      html`<li><a href="${addressOf(home, steps.slice(0, depth).join('/'))}">${plainName(step)}</a></li>`,
  );
  return html`<nav aria-label="Breadcrumb"><ol class="crumbs">${above}<li aria-current="page">${plainName(within)}</li></ol></nav>`;
}
