import { type Entry, normalizePath, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';

/** An entry and, of a folder, what it holds. */
export async function entriesAt(files: WorkspaceFs, entry: Entry): Promise<Entry[]> {
  const entries = [entry];
  if (entry.type !== 'directory') return entries;
  let after: string | undefined;
  do {
    const listing = await files.list(entry.path, { recursive: true, after });
    entries.push(...listing.entries);
    after = listing.next ?? undefined;
  } while (after !== undefined);
  return entries;
}

/** How many files and folders come into being with one at a path: itself and the folders above it, as far as they are missing. */
export async function countMissing(files: WorkspaceFs, path: string): Promise<number> {
  let missing = 0;
  for (let at = normalizePath(path); at !== '' && !(await find(files, at)); at = parentOf(at)) missing++;
  return missing;
}

/** The folder that holds a path; '' is the workspace itself. */
export function parentOf(path: string): string {
  const normal = normalizePath(path);
  return normal.slice(0, Math.max(0, normal.lastIndexOf('/')));
}

/** What is at a path; null where nothing can be. */
export async function find(files: WorkspaceFs, path: string): Promise<Entry | null> {
  try {
    return await files.stat(path);
  } catch (error) {
    if (error instanceof WorkspaceFsError && ['not_found', 'not_directory', 'symlink'].includes(error.code))
      return null;
    throw error;
  }
}
