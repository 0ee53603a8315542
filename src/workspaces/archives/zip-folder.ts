import { PassThrough, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import yazl from 'yazl';
import { type Entry, type OpenFile, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';

/** A folder to be sent as a zip. */
export interface ZippedFolder {
  readonly name: string;
  zip(): Readable;
}

/** Whether an entry, by its name within the folder, stays out of the zip. */
export type LeftOut = (name: string) => boolean;

/**
 * A folder as a zip, made while it is read, one file open at a time. Links and special files are left out, and so is what
 * has gone when its turn comes; each file that is in it is whole. A file that cannot be read to its end breaks the stream
 * off, so that nobody takes a part for the whole.
 */
export function zipFolder(files: WorkspaceFs, folder: string, isLeftOut: LeftOut = () => false): Readable {
  const zip = new yazl.ZipFile();
  const out = new PassThrough();
  zip.outputStream.pipe(out);
  zip.on('error', error => out.destroy(error as Error));
  addAll(new FolderZip(zip, out), files, folder, isLeftOut).then(
    () => zip.end(),
    error => out.destroy(error as Error),
  );
  return out;
}

async function addAll(zip: FolderZip, files: WorkspaceFs, folder: string, isLeftOut: LeftOut): Promise<void> {
  const skip = folder === '' ? 0 : folder.length + 1;
  let after: string | undefined;
  do {
    const { entries, next } = await files.list(folder, { recursive: true, after });
    for (const entry of entries) {
      const name = entry.path.slice(skip);
      if (zip.isClosed) return;
      if (!name.includes('\\') && !isLeftOut(name)) await zip.add(files, entry, name);
    }
    after = next ?? undefined;
  } while (after !== undefined);
}

class FolderZip {
  constructor(
    private readonly zip: yazl.ZipFile,
    private readonly out: PassThrough,
  ) {}

  get isClosed(): boolean {
    return this.out.closed;
  }

  async add(files: WorkspaceFs, { path, type, modified_at }: Entry, name: string): Promise<void> {
    const mtime = new Date(modified_at);
    if (type === 'directory') this.zip.addEmptyDirectory(name, { mtime });
    if (type !== 'file') return;
    const file = await openIfThere(files, path);
    if (file) await this.pass(file.stream(), name, mtime);
  }

  /** Until the file is read; a reader of the zip that goes away closes it. */
  private async pass(bytes: Readable, name: string, mtime: Date): Promise<void> {
    const close = () => bytes.destroy();
    this.out.once('close', close);
    try {
      this.zip.addReadStream(bytes, name, { mtime });
      await finished(bytes);
    } catch (error) {
      if (!this.isClosed) throw error;
    } finally {
      this.out.off('close', close);
    }
  }
}

async function openIfThere(files: WorkspaceFs, path: string): Promise<OpenFile | undefined> {
  try {
    return await files.openRead(path);
  } catch (error) {
    if (error instanceof WorkspaceFsError && GONE.has(error.code)) return undefined;
    throw error;
  }
}

const GONE = new Set<string>(['not_found', 'symlink', 'not_regular', 'is_directory']);
