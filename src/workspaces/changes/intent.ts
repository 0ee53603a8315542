import type { Entry, WorkspaceFs } from '#libs/workspace-fs/index.js';
import type { Change } from './change.js';
import type { Writer } from './writer.js';

export type Manifest = readonly (readonly [path: string, etag: string | null])[];

/** What a write will change: a path and, of a folder, what is below it. */
export interface Target {
  readonly path: string;
  /** The entity tag that the file will have; absent: a folder, or not known before. */
  readonly etag?: string;
  /** What is there now. Absent: nothing is replaced; new files are found by their time. */
  readonly before?: Manifest;
  readonly from?: string;
}

/** An unfinished write: a row of `workspace_write`, until its changes are in the log. */
export interface Intent {
  readonly id: string;
  readonly workspace_id: string;
  readonly writer_type: Writer['type'];
  readonly writer_id: string;
  readonly targets: readonly Target[];
  readonly from_seq: string;
  /** How many of its changes are in the log. */
  readonly recorded: number;
  readonly began_at: string;
  /** When it began by the clock of the database; absent: its process is gone. */
  readonly entered_at?: string;
}

/** File times come from a coarse clock that lags, and some disks keep whole seconds. */
const CLOCK_MS = 2000;

/** What the history must have before it is overwritten. */
export function replacedPaths(targets: readonly Target[]): string[] {
  return targets.flatMap(({ path, before, from }) =>
    before ? [path, ...(from === undefined ? [] : [from])] : [],
  );
}

export function manifestOf(entries: readonly Entry[]): Manifest {
  return entries.map(({ path, etag }) => [path, etag]);
}

/** The changes of a write whose end is unknown, by what is there now. */
export async function outcomeOf(files: WorkspaceFs, { targets, began_at }: Intent): Promise<Change[]> {
  const changes: Change[] = [];
  for (const target of targets)
    changes.push(...(await outcomeAt(files, target, Date.parse(began_at) - CLOCK_MS)));
  return changes;
}

async function outcomeAt(files: WorkspaceFs, target: Target, since: number): Promise<Change[]> {
  const { path, before, from } = target;
  const there = await files.find(path);
  const now = there && target.etag === undefined ? await entriesAt(files, there) : there ? [there] : [];
  if (!before)
    return changesTo(
      now.filter(({ type, modified_at }) => type === 'file' && Date.parse(modified_at) >= since),
    );
  const isThere = there !== null && (target.etag === undefined || there.etag === target.etag);
  if (from === undefined) {
    if (target.etag !== undefined) return isThere ? changesTo(now, before) : [];
    return [...deletionsOf(before, now), ...differing(before, now)];
  }
  if (await files.find(from)) return deletionsOf(before, now);
  return isThere
    ? [...deletionsOf(before, now), ...movesOf(now, from, path)]
    : [...deletionsOf(before, now), { path: from, kind: 'deleted' }];
}

export function movesOf(now: readonly Entry[], from: string, to: string): Change[] {
  return changesTo(now).map(change => ({
    ...change,
    kind: 'moved',
    from: from + change.path.slice(to.length),
  }));
}

export function deletionsOf(before: Manifest, now: readonly Entry[]): Change[] {
  const left = new Set(now.map(({ path }) => path));
  return before.filter(([path]) => !left.has(path)).map(([path]) => ({ path, kind: 'deleted' }));
}

function differing(before: Manifest, now: readonly Entry[]): Change[] {
  const known = new Map(before);
  return changesTo(
    now.filter(({ path, etag }) => known.get(path) !== etag),
    before,
  );
}

export function changesTo(now: readonly Entry[], before: Manifest = []): Change[] {
  const known = new Map(before);
  return now.map(({ path, type, size, etag }) => ({
    path,
    kind: known.has(path) ? 'modified' : 'created',
    size: type === 'file' ? size : null,
    etag,
  }));
}

/** An entry, and all that is below it. */
export async function entriesAt(files: WorkspaceFs, entry: Entry): Promise<Entry[]> {
  return entry.type === 'directory' ? [entry, ...(await files.listAll(entry.path))] : [entry];
}
