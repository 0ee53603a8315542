import { PassThrough, Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import yazl from 'yazl';
import {
  type Entry,
  type Listing,
  type OpenFile,
  type WorkspaceFs,
  WorkspaceFsError,
} from '#libs/workspace-fs/index.js';
import { batchesOf, isSmall, levelFor, nameInZip } from './zip-batches.js';

/** A folder to be sent as a zip. */
export interface ZippedFolder {
  readonly name: string;
  zip(): Promise<Readable>;
}

/** Whether an entry, by its name within the folder, stays out of the zip. */
export type LeftOut = (name: string) => boolean;

/**
 * A folder as a zip, made while it is read: small files a batch at a time, while the batch before is compressed; of the
 * others one at a time. Links and special files are left out, and so is what has gone when its turn comes; each file that
 * is in it is whole. A file that cannot be read to its end breaks the stream off, so that nobody takes a part for the
 * whole. Rejects where there is no such folder.
 */
export async function zipFolder(
  files: WorkspaceFs,
  folder: string,
  isLeftOut: LeftOut = () => false,
): Promise<Readable> {
  const first = await files.list(folder, { recursive: true });
  const zip = new yazl.ZipFile();
  const out = new PassThrough();
  zip.outputStream.pipe(out);
  zip.on('error', error => out.destroy(error as Error));
  // Its reader is told of what goes wrong, and may not be there yet: an error without a listener would end the process.
  out.on('error', () => undefined);
  addAll(new FolderZip(zip, out, files), listingsOf(files, folder, first), folder, isLeftOut).then(
    () => zip.end(),
    error => out.destroy(error as Error),
  );
  return out;
}

async function* listingsOf(files: WorkspaceFs, folder: string, first: Listing): AsyncGenerator<Entry[]> {
  yield first.entries;
  for (let { next } = first; next !== null; ) {
    const listing = await files.list(folder, { recursive: true, after: next });
    yield listing.entries;
    next = listing.next;
  }
}

async function addAll(
  zip: FolderZip,
  listings: AsyncIterable<Entry[]>,
  folder: string,
  isLeftOut: LeftOut,
): Promise<void> {
  const skip = folder === '' ? 0 : folder.length + 1;
  for await (const entries of listings) {
    const wanted = entries
      .map(entry => ({ entry, name: entry.path.slice(skip) }))
      .filter(({ name }) => !name.includes('\\') && !isLeftOut(name));
    for (const batch of batchesOf(wanted)) {
      if (zip.isClosed) return;
      await zip.add(batch);
    }
  }
}

/** Something to be put into the zip under this name. */
export interface Item {
  readonly entry: Entry;
  readonly name: string;
}

class FolderZip {
  private readonly closed: Promise<unknown>;
  /** Kept when all but the last file of the batch before is written. */
  private written: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly zip: yazl.ZipFile,
    private readonly out: PassThrough,
    private readonly files: WorkspaceFs,
  ) {
    this.closed = new Promise(resolve => out.once('close', resolve));
  }

  get isClosed(): boolean {
    return this.out.closed;
  }

  async add(batch: readonly Item[]): Promise<void> {
    const contents = await Promise.all(batch.map(({ entry }) => this.contentOf(entry)));
    await Promise.race([this.written, this.closed]);
    const last = contents.findLastIndex(content => content instanceof Buffer);
    for (const [at, item] of batch.entries()) {
      if (this.isClosed) return;
      const content = contents[at];
      if (item.entry.type === 'directory') this.zip.addEmptyDirectory(nameInZip(item.name), mtimeOf(item));
      else if (content === 'large') await this.addLarge(item);
      else if (content && at === last) this.written = this.addInTurn(content, item);
      else if (content) this.zip.addBuffer(content, nameInZip(item.name), optionsFor(item));
    }
  }

  /** All of a small file; undefined where it is gone, or no file. */
  private async contentOf(entry: Entry): Promise<Buffer | 'large' | undefined> {
    if (entry.type !== 'file') return undefined;
    if (!isSmall(entry)) return 'large';
    const file = await openIfThere(this.files, entry.path);
    if (!file) return undefined;
    try {
      return isSmall(file.entry) ? await file.bytes() : 'large';
    } finally {
      await file.close();
    }
  }

  /**
   * Adds a file and returns when all before it is written. As a stream, which the library asks for when its turn comes, and
   * which waits for a slow reader: what was read ahead stays little.
   */
  private addInTurn(content: Buffer, item: Item): Promise<void> {
    return new Promise(resolve => {
      this.zip.addReadStreamLazy(nameInZip(item.name), optionsFor(item), give => {
        resolve();
        give(null, Readable.from([content], { objectMode: false }));
      });
    });
  }

  /** Until the file is read; a reader of the zip that goes away closes it. */
  private async addLarge(item: Item): Promise<void> {
    const file = await openIfThere(this.files, item.entry.path);
    if (!file) return;
    const bytes = file.stream();
    const close = () => bytes.destroy();
    this.out.once('close', close);
    try {
      this.zip.addReadStream(bytes, nameInZip(item.name), optionsFor(item));
      await finished(bytes);
    } catch (error) {
      if (!this.isClosed) throw error;
    } finally {
      this.out.off('close', close);
    }
  }
}

const mtimeOf = ({ entry }: Item) => ({ mtime: new Date(entry.modified_at) });
const optionsFor = (item: Item) => ({ ...mtimeOf(item), compressionLevel: levelFor(item.name) });

async function openIfThere(files: WorkspaceFs, path: string): Promise<OpenFile | undefined> {
  try {
    return await files.openRead(path);
  } catch (error) {
    if (error instanceof WorkspaceFsError && GONE.has(error.code)) return undefined;
    throw error;
  }
}

const GONE = new Set<string>(['not_found', 'symlink', 'not_regular', 'is_directory', 'not_directory']);
