import { GlobSet } from '#libs/workspace-fs/index.js';
import type { LoggedChange } from '../../../workspaces/changes/index.js';
import type { FileTrigger } from '../../automation/index.js';
import type { LiveFileTrigger } from './files.store.js';

/** So many comparisons are made before others have their turn. */
const IN_A_ROW = 50_000;

/** The file triggers of a workspace, to find those that a change is for. */
export class FileEvents {
  private readonly globs: GlobSet;
  /** The triggers with each pattern. */
  private readonly byGlob: LiveFileTrigger[][];

  constructor(readonly triggers: readonly LiveFileTrigger[]) {
    const byGlob = Map.groupBy(triggers, ({ config }) => config.glob);
    this.globs = new GlobSet([...byGlob.keys()]);
    this.byGlob = [...byGlob.values()];
  }

  /** The changes that each trigger is for, in their order; those before it went live are none of its business. */
  async of<C extends LoggedChange>(changes: readonly C[]): Promise<Map<LiveFileTrigger, C[]>> {
    const found = new Map<LiveFileTrigger, C[]>();
    let left = IN_A_ROW;
    for (const change of changes) {
      for (const trigger of this.at(change))
        if (isSince(trigger, change)) {
          const its = found.get(trigger);
          if (its) its.push(change);
          else found.set(trigger, [change]);
        }
      left -= this.triggers.length;
      if (left > 0) continue;
      left = IN_A_ROW;
      await new Promise(resolve => setImmediate(resolve));
    }
    return found;
  }

  private *at({ path, kind, from_path }: LoggedChange): Generator<LiveFileTrigger> {
    const there = this.globs.matching(path);
    const from = from_path === null ? NOWHERE : this.globs.matching(from_path);
    for (const index of new Set([...there, ...from]))
      for (const trigger of this.byGlob[index] ?? [])
        if (isEvent(trigger.config, kind, there.has(index), from.has(index))) yield trigger;
  }
}

const NOWHERE: ReadonlySet<number> = new Set();

/**
 * Whether a change is one of those that the trigger names. What is moved to where the pattern matches is created there, and what
 * is moved away is deleted.
 */
function isEvent({ events }: FileTrigger, kind: string, isTo: boolean, isFrom: boolean): boolean {
  if (kind !== 'moved') return isTo && (events as readonly string[]).includes(kind);
  if (events.includes('moved')) return true;
  return isTo && !isFrom ? events.includes('created') : !isTo && isFrom && events.includes('deleted');
}

/** A change that began before the trigger went live may go on after it. */
const isSince = ({ cursor, since }: LiveFileTrigger, { seq, changed_at }: LoggedChange): boolean =>
  BigInt(seq) > BigInt(cursor) || Date.parse(changed_at) >= Date.parse(since);
