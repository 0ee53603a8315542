import path from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import {
  batchesOf,
  type Entry,
  isNoFile,
  type Listing,
  type OpenFile,
  type WorkspaceFs,
} from '#libs/workspace-fs/index.js';
import { type ZipEntry, ZipWriter } from '#libs/zip-writer/index.js';

/** A file up to this size is read and compressed at once: a stream costs more than the bytes do. */
const SMALL_BYTES = 64 * 1024;

const FAST = 1;
const STORED = 0;

/** What is compressed already, by its extension, gains nothing from being compressed again. */
const COMPRESSED = new Set(
  (
    '7z aac apk avif br bz2 docx epub flac gif gz heic jar jpeg jpg lz4 m4a m4v mkv mov mp3 mp4 odp ods odt ogg opus ' +
    'parquet png pptx rar tgz webm webp whl woff woff2 xlsx xz zip zst'
  ).split(' '),
);

export const isSmall = ({ size }: Entry): boolean => size <= SMALL_BYTES;

export function levelFor(name: string): number {
  return COMPRESSED.has(path.extname(name).slice(1).toLowerCase()) ? STORED : FAST;
}

/** `c:x`, which is a fine name here and a drive elsewhere, as one that no system takes for absolute. */
export function nameInZip(name: string): string {
  return /^[a-z]:/i.test(name) ? `./${name}` : name;
}

export interface ZippedFolder {
  readonly name: string;
  zip(signal: AbortSignal): Promise<Readable>;
}

export type LeftOut = (name: string) => boolean;

const BATCH = { files: 16, bytes: 1024 * 1024 };
const PIECE_BYTES = 64 * 1024;
/** Compressed between two turns of the event loop: a millisecond or two. */
const BREATH_BYTES = 128 * 1024;

/**
 * A folder as a zip, made while it is read: small files in batches, others one at a time. Leaves out links, special files
 * and what is gone when its turn comes. A file that cannot be read to its end breaks the stream off, so that no one takes
 * a part for the whole. Rejects where there is no such folder.
 */
export async function zipFolder(
  files: WorkspaceFs,
  folder: string,
  isLeftOut: LeftOut = () => false,
): Promise<Readable> {
  const first = await files.list(folder, { recursive: true });
  const batches = itemsIn(listingsOf(files, folder, first), folder, isLeftOut);
  const out = Readable.from(joined(new FolderZip(files).bytes(batches)), {
    objectMode: false,
    highWaterMark: PIECE_BYTES,
  });
  // An error without a listener would end the process; the reader may not be there yet.
  return out.on('error', () => undefined);
}

async function* listingsOf(files: WorkspaceFs, folder: string, first: Listing): AsyncGenerator<Entry[]> {
  yield first.entries;
  for (let { next } = first; next !== null; ) {
    const listing = await files.list(folder, { recursive: true, after: next });
    yield listing.entries;
    next = listing.next;
  }
}

interface Item {
  readonly entry: Entry;
  readonly size: number;
  readonly name: string;
}

async function* itemsIn(
  listings: AsyncIterable<Entry[]>,
  folder: string,
  isLeftOut: LeftOut,
): AsyncGenerator<Item[]> {
  const skip = folder === '' ? 0 : folder.length + 1;
  for await (const entries of listings) {
    const wanted = entries
      .map(entry => ({ entry, size: entry.size, name: entry.path.slice(skip) }))
      .filter(({ name }) => !name.includes('\\') && !isLeftOut(name));
    yield* batchesOf(wanted, BATCH);
  }
}

class FolderZip {
  private readonly zip = new ZipWriter();
  private sinceBreath = 0;

  constructor(private readonly files: WorkspaceFs) {}

  async *bytes(batches: AsyncIterable<Item[]>): AsyncGenerator<Buffer> {
    for await (const batch of batches) {
      const contents = await Promise.all(batch.map(({ entry }) => this.contentOf(entry)));
      for (const [at, item] of batch.entries()) yield* this.bytesOf(item, contents[at]);
    }
    yield* this.zip.end();
  }

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

  private async *bytesOf(item: Item, content: Buffer | 'large' | undefined): AsyncGenerator<Buffer> {
    if (item.entry.type === 'directory') yield this.zip.folder(entryOf(item));
    else if (content === 'large') yield* this.large(item);
    else if (content) {
      yield* this.zip.file(entryOf(item), content);
      await this.breathe(content.byteLength);
    }
  }

  /** Closes the file also when the reader of the zip goes away. */
  private async *large(item: Item): AsyncGenerator<Buffer> {
    const file = await openIfThere(this.files, item.entry.path);
    if (!file) return;
    try {
      yield* this.zip.stream(entryOf(item), file.stream(), file.entry.size);
    } finally {
      await file.close();
    }
  }

  private async breathe(bytes: number): Promise<void> {
    this.sinceBreath += bytes;
    if (this.sinceBreath < BREATH_BYTES) return;
    this.sinceBreath = 0;
    await setImmediate();
  }
}

function entryOf({ name, entry }: Item): ZipEntry {
  return { name: nameInZip(name), modified: new Date(entry.modified_at), level: levelFor(name) };
}

async function* joined(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    waiting.push(piece);
    bytes += piece.byteLength;
    if (bytes < PIECE_BYTES) continue;
    yield Buffer.concat(waiting, bytes);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting, bytes);
}

async function openIfThere(files: WorkspaceFs, path: string): Promise<OpenFile | undefined> {
  try {
    return await files.openRead(path);
  } catch (error) {
    if (isNoFile(error)) return undefined;
    throw error;
  }
}
