import type { Entry, WorkspaceFs } from '#libs/workspace-fs/index.js';
import { MAX_BYTES } from './change-batches.js';
import { type Draft, isSkipped } from './draft.js';

/** A write may wait for one of such batches. */
const MAX_FOUND = 1000;
const PAGE = 1000;

/** The next files from before the history; `through` is null at the end. */
export async function foundAfter(
  files: WorkspaceFs,
  start: string | null,
): Promise<{ found: Entry[]; through: string | null }> {
  const found: Entry[] = [];
  let after = start ?? undefined;
  for (let bytes = 0; found.length < MAX_FOUND && bytes < MAX_BYTES; ) {
    const { entries, next } = await files.list('', { recursive: true, limit: PAGE, after });
    for (const entry of entries)
      if (entry.type === 'file' && !isSkipped(entry.path)) {
        found.push(entry);
        bytes += entry.size;
      }
    if (next === null) return { found, through: null };
    after = next;
  }
  return { found, through: after ?? null };
}

export function draftOfFound({ path, size, etag, modified_at }: Entry): Draft {
  // A file's time may be set to anything.
  const time = Math.min(Math.max(0, Date.parse(modified_at)), Date.now());
  const changedAt = new Date(time).toISOString();
  return { path, kind: 'found', from: null, size, etag, changedAt, change: null, content: undefined };
}
