import { type Entry, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';

const MAX_SKIPPED = 1000;

export interface Copied {
  done: number;
  bytes_done: number;
  readonly skipped: string[];
}

/** Settles all of them before it resolves or rejects. */
export async function copyBatch(
  source: WorkspaceFs,
  target: WorkspaceFs,
  entries: Entry[],
  copied: Copied,
): Promise<void> {
  const files = entries.filter(({ type }) => type === 'file');
  const folders = entries.filter(({ type }) => type === 'directory');
  const made = await Promise.allSettled(folders.map(({ path }) => target.mkdir(path)));
  const written = await target.copyFrom(
    source,
    files.map(({ path }) => path),
  );
  const outcomes = new Map<Entry, PromiseSettledResult<unknown> | undefined>();
  for (const [index, entry] of folders.entries()) outcomes.set(entry, made[index]);
  for (const [index, entry] of files.entries()) outcomes.set(entry, written[index]);
  for (const entry of entries) {
    if (isLeftOut(outcomes.get(entry)) && copied.skipped.length < MAX_SKIPPED)
      copied.skipped.push(entry.path);
    copied.done++;
    copied.bytes_done += entry.size;
  }
}

/** Links, special files, what is gone or changed type, changes all the time, or is too large. */
const LEFT_OUT = [
  'not_found',
  'symlink',
  'not_regular',
  'is_directory',
  'not_directory',
  'exists',
  'busy',
  'too_large',
];

/** Links and special files have no outcome; throws other errors. */
function isLeftOut(outcome: PromiseSettledResult<unknown> | undefined): boolean {
  if (outcome?.status !== 'rejected') return outcome === undefined;
  const { reason } = outcome;
  if (reason instanceof WorkspaceFsError && LEFT_OUT.includes(reason.code)) return true;
  throw reason;
}
