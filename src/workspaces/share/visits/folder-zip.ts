import type { Readable } from 'node:stream';
import yazl from 'yazl';
import type { Entry, WorkspaceFs } from '#libs/workspace-fs/index.js';
import { TooLarge } from '../../../platform/http/problem.js';
import { isHidden } from '../below.js';

const MOST_ENTRIES = 20_000;

/**
 * A folder as a zip stream. Links are left out, as are names that begin with a dot; files are opened one at a time, when
 * their turn comes. A file that is gone by then breaks the stream off, so that nobody takes a part for the whole.
 */
export async function zipOf(files: WorkspaceFs, folder: string): Promise<Readable> {
  const { entries, next } = await files.list(folder, { recursive: true, limit: MOST_ENTRIES });
  if (next !== null)
    throw new TooLarge(`The folder holds more than ${MOST_ENTRIES} files; download its folders one by one`);
  const zip = new yazl.ZipFile();
  const stream = zip.outputStream as Readable;
  zip.on('error', error => stream.destroy(error as Error));
  for (const entry of entries) add(zip, files, entry, folder === '' ? 0 : folder.length + 1);
  zip.end();
  return stream;
}

function add(zip: yazl.ZipFile, files: WorkspaceFs, { path, type, modified_at }: Entry, cut: number): void {
  const name = path.slice(cut);
  if (isHidden(name)) return;
  const mtime = new Date(modified_at);
  if (type === 'directory') zip.addEmptyDirectory(name, { mtime });
  if (type !== 'file') return;
  zip.addReadStreamLazy(name, { mtime }, give => {
    files.openRead(path).then(
      file => give(null, file.stream()),
      error => give(error, undefined as never),
    );
  });
}
