import type { LoggedChange } from '../changes/index.js';

/** Of one commit. */
export const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Changes up to one that comes over a content that was kept: that has to be in a commit of its own, as git forgets what no
 * commit has.
 */
export function untilOverwritten(changes: LoggedChange[], kept: ReadonlySet<string>): LoggedChange[] {
  if (kept.size === 0) return changes;
  const last = new Map<string, string>();
  const end = changes.findIndex(({ path, from_path, etag }) => {
    const isOver = [path, from_path].some(at => at !== null && (last.get(at) ?? etag) !== etag);
    if (etag !== null && kept.has(etag)) last.set(path, etag);
    return isOver;
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
