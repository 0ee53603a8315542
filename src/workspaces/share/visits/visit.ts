import type { Entry, WorkspaceFs } from '#libs/workspace-fs/index.js';
import { pathBelow } from '../../exposure/index.js';
import type { Allowance } from '../links/share-link.entity.js';
import type { LinkRow } from '../links/share-links.store.js';
import type { Place } from '../pages/crumbs.js';

/** A link that was opened by somebody who may. Paths are taken below what it shares, and lead nowhere else. */
export class Visit {
  constructor(
    readonly link: LinkRow,
    readonly token: string,
    readonly files: WorkspaceFs,
  ) {}

  get allow(): Allowance {
    return this.link.allow;
  }

  get savable(): boolean {
    return this.allow === 'download';
  }

  get home(): string {
    return `/s/${this.token}`;
  }

  /** The name of what is shared. */
  get name(): string {
    return this.link.path.split('/').at(-1) || this.link.workspace_name;
  }

  place(within: string): Place {
    return { home: this.home, name: this.name, within };
  }

  pathOf(within: string): string {
    return pathBelow(this.link.path, within);
  }

  stat(within: string): Promise<Entry> {
    return this.files.stat(this.pathOf(within));
  }
}
