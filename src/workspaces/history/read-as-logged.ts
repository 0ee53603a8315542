import type { Reading } from '#libs/git-history/index.js';
import { type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';

const EXECUTABLE = 0o100n;

export interface SeenAs {
  readonly path: string;
  readonly etag: string | null;
  readonly size: number | null;
}

/** Reads a path if it is still as it was seen. */
export async function readAsLogged(
  files: WorkspaceFs,
  { path, etag, size }: SeenAs,
  maxBytes: number,
): Promise<Reading> {
  if ((size ?? 0) > maxBytes) return { unkept: 'too_large' };
  try {
    await using file = await files.openRead(path);
    if (file.entry.size > maxBytes) return { unkept: 'too_large' };
    if (file.entry.etag !== etag) return { unkept: 'overwritten' };
    const bytes = await file.bytes();
    // A concurrent writer may have changed it.
    const now = await files.stat(path);
    if (now.etag !== etag) return { unkept: 'overwritten' };
    return { bytes, executable: (file.mode & EXECUTABLE) !== 0n };
  } catch (error) {
    if (error instanceof WorkspaceFsError) return { unkept: 'overwritten' };
    throw error;
  }
}
