import { Readable } from 'node:stream';
import yazl from 'yazl';
import { type Entry, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';

/** A folder to be sent as a zip. */
export interface ZippedFolder {
  readonly name: string;
  zip(): Readable;
}

/** A folder as a zip, made while it is read. Links and special files are left out; each file is whole. */
export function zipFolder(files: WorkspaceFs, folder: string): Readable {
  const zip = new yazl.ZipFile();
  const out = new Readable().wrap(zip.outputStream);
  zip.on('error', error => out.destroy(error));
  addAll(zip, files, folder).then(
    () => zip.end(),
    error => out.destroy(error),
  );
  return out;
}

async function addAll(zip: yazl.ZipFile, files: WorkspaceFs, folder: string): Promise<void> {
  let after: string | undefined;
  do {
    const { entries, next } = await files.list(folder, { recursive: true, after });
    for (const entry of entries) await add(zip, files, entry, folder === '' ? 0 : folder.length + 1);
    after = next ?? undefined;
  } while (after !== undefined);
}

async function add(zip: yazl.ZipFile, files: WorkspaceFs, entry: Entry, skip: number): Promise<void> {
  const name = entry.path.slice(skip);
  const mtime = new Date(entry.modified_at);
  if (entry.type === 'directory') zip.addEmptyDirectory(name, { mtime });
  if (entry.type !== 'file' || name.includes('\\')) return;
  // Opened when its turn has come: a descriptor for each would be too many.
  zip.addReadStreamLazy(name, { mtime }, done => {
    files.openRead(entry.path).then(
      file => done(null, file.stream()),
      error => (isGone(error) ? done(null, Readable.from([])) : done(error, Readable.from([]))),
    );
  });
}

/** What vanished while the folder was read is an empty file: its name is in the zip already. */
function isGone(error: unknown): boolean {
  return (
    error instanceof WorkspaceFsError &&
    ['not_found', 'symlink', 'not_regular', 'is_directory'].includes(error.code)
  );
}
