import type { WorkspaceFs } from '#libs/workspace-fs/index.js';
import { Conflict } from '../../platform/errors/index.js';
import type { RunFile } from './version-reads.store.js';

const MAX_NAMED = 20;

export type Restorable = Omit<RunFile, 'before'> & {
  before: NonNullable<RunFile['before']> & { blob: string };
};

export interface Plan {
  readonly remove: RunFile[];
  readonly restore: Restorable[];
  readonly changedSince: string[];
  readonly notKept: string[];
}

/** Compares each file of a run with how the run left it, and with what it was before. */
export async function planFor(files: WorkspaceFs, runFiles: RunFile[]): Promise<Plan> {
  const plan: Plan = { remove: [], restore: [], changedSince: [], notKept: [] };
  for (const file of runFiles) {
    const { path, replaced, before, after, head } = file;
    if (isAsBefore(file)) continue;
    const now = await files.find(path);
    const isAsLogged = isAbsent(head) ? now?.type !== 'file' : now?.etag === head.etag;
    if (head.id !== after.id || !isAsLogged) plan.changedSince.push(path);
    else if (!replaced) plan.remove.push(file);
    else if (before?.blob) plan.restore.push({ ...file, before: { ...before, blob: before.blob } });
    else plan.notKept.push(path);
  }
  return plan;
}

function isAsBefore({ replaced, before, head }: RunFile): boolean {
  if (!replaced) return isAbsent(head);
  return before !== null && before.blob !== null && before.blob === head.blob;
}

export const isAbsent = ({ unkept }: RunFile['head']) => unkept === 'deleted';

export function refusal({ changedSince: changed, notKept }: Plan): Conflict {
  if (changed.length > 0) return changedSince(changed);
  return new Conflict(
    `The contents that these files had before the run were not kept: ${named(notKept)}; pass skip_changed to take back the rest`,
  );
}

export function changedSince(paths: readonly string[]): Conflict {
  return new Conflict(
    `Somebody changed these files after the run: ${named(paths)}; pass skip_changed to take back the rest`,
  );
}

function named(paths: readonly string[]): string {
  const shown = paths.slice(0, MAX_NAMED).map(path => JSON.stringify(path));
  const more = paths.length - shown.length;
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}
