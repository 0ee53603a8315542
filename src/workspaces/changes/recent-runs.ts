import { COALESCE_MS } from './change.js';
import type { Writer } from './writer.js';

/** A write merges into what was new when it began, which may be a while ago when it is recorded. */
const KEPT_MS = 10 * COALESCE_MS;

/**
 * The runs whose changes this process has recorded a moment ago: into those, what they change next may merge. A run is at work
 * in one process at a time; where another has recorded something of it just now, two changes stay that could have been one.
 */
export class RecentRuns {
  /** When changes of a run were last recorded, by its id; what was recorded last is last. */
  private readonly last = new Map<string, number>();

  /** Changes of the writer are about to be recorded, or were. */
  note({ type, id }: Writer): void {
    if (type !== 'run') return;
    this.last.delete(id);
    this.last.set(id, performance.now());
  }

  /** Whether the log may have a change of the writer that is as new as one must be to merge into it. */
  mayHave({ type, id }: Writer): boolean {
    if (type !== 'run') return true;
    this.forgetOld();
    return this.last.has(id);
  }

  private forgetOld(): void {
    const oldest = performance.now() - KEPT_MS;
    for (const [id, at] of this.last) {
      if (at > oldest) return;
      this.last.delete(id);
    }
  }
}
