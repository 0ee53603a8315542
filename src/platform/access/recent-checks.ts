import { Injectable } from '@nestjs/common';
import { Topics } from '../topics/index.js';
import { type Actor, accessTopic, credentialTopic, workspaceAccessTopic } from './access.js';

/**
 * Which callers were checked so recently that nothing about anyone's access has changed since, as far as this process knows.
 * What they set off need not check them again: it subscribes to such changes, then asks here.
 */
@Injectable()
export class RecentChecks {
  private readonly marks = new WeakMap<Actor, number>();

  constructor(private readonly topics: Topics) {}

  /** Looks a caller up, who then counts as checked. */
  async noting(look: () => Promise<Actor | undefined>): Promise<Actor | undefined> {
    const mark = this.mark();
    const actor = await look();
    if (actor && mark !== undefined) this.marks.set(actor, mark);
    return actor;
  }

  /** When the caller was checked; undefined where that is not known, or something may have changed since. */
  markOf(actor: Actor): number | undefined {
    const mark = this.marks.get(actor);
    return this.isNewest(mark) ? mark : undefined;
  }

  /** Whether nothing has changed since then. */
  isNewest(mark: number | undefined): boolean {
    return mark !== undefined && mark === this.mark();
  }

  private mark(): number | undefined {
    return this.topics.mark(accessTopic, credentialTopic, workspaceAccessTopic);
  }
}
