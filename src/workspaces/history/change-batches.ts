import type { LoggedChange } from '../changes/index.js';
import { copyOf } from './kept-copies.js';

/** Of one commit. */
export const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Changes up to one that comes over a content that was kept: that has to be in a commit of its own, as git forgets what no
 * commit has.
 */
export function untilOverwritten(changes: LoggedChange[], kept: ReadonlySet<string>): LoggedChange[] {
  if (kept.size === 0) return changes;
  const last = new Set<string>();
  const end = changes.findIndex(change => {
    const { path, from_path } = change;
    if (last.has(path) || (from_path !== null && last.has(from_path))) return true;
    if (kept.has(copyOf(change) ?? '')) last.add(path);
    return false;
  });
  return end === -1 ? changes : changes.slice(0, end);
}

export function firstBytes(changes: LoggedChange[]): LoggedChange[] {
  let bytes = 0;
  const end = changes.findIndex(({ size }) => {
    bytes += Number(size ?? 0);
    return bytes > MAX_BYTES;
  });
  return end === -1 ? changes : changes.slice(0, Math.max(1, end));
}
