import type { BigIntStats } from 'node:fs';

export type EntryType = 'file' | 'directory' | 'symlink' | 'other';

export interface Entry {
  /** Relative to the workspace, components joined by '/'; '' is the workspace itself. */
  path: string;
  type: EntryType;
  /** Bytes of a file; 0 for anything else. */
  size: number;
  /** ISO 8601, UTC. */
  modified_at: string;
  /** An entity tag with its quotes, of inode, size and modification time; null unless a file. */
  etag: string | null;
}

export function toEntry(path: string, stats: BigIntStats): Entry {
  const type = typeOf(stats);
  return {
    path,
    type,
    size: type === 'file' ? Number(stats.size) : 0,
    modified_at: isoTime(stats.mtimeMs),
    etag: type === 'file' ? etagOf(stats) : null,
  };
}

export function etagOf(stats: BigIntStats): string {
  return `"${stats.ino.toString(36)}-${stats.size.toString(36)}-${stats.mtimeNs.toString(36)}"`;
}

/** As {@link etagOf}, and with the time of the inode, which no program can set. */
export function revisionOf(stats: BigIntStats): string {
  return `${etagOf(stats)}-${stats.ctimeNs.toString(36)}`;
}

function typeOf(stats: BigIntStats): EntryType {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'symlink' : 'other';
}

const LAST_TIME_MS = 8_640_000_000_000_000n;

/** A file's time may be set to anything, also beyond what a Date can hold, which would throw. */
function isoTime(milliseconds: bigint): string {
  const bounded = milliseconds > LAST_TIME_MS ? LAST_TIME_MS : milliseconds;
  return new Date(Number(bounded < -LAST_TIME_MS ? -LAST_TIME_MS : bounded)).toISOString();
}
