import path from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { type ZipEntry, ZipWriter } from './zip-writer.js';

export interface TreeEntry {
  /** From the root of the tree, components joined by '/'. */
  readonly path: string;
  /** `file` and `directory` are packed, other types left out. */
  readonly type: string;
  readonly size: number;
  readonly modified_at: string;
}

export interface TreeFile {
  readonly entry: { readonly size: number };
  bytes(): Promise<Buffer>;
  stream(): AsyncIterable<Buffer>;
  close(): Promise<unknown>;
}

/** Where a folder is read from. */
export interface ZippedTree {
  /** A page of all that is below the folder, each folder before what it holds; `next` is null on the last one. */
  list(folder: string, after?: string): Promise<{ entries: readonly TreeEntry[]; next: string | null }>;
  /** Undefined: no file is there any more. */
  open(path: string): Promise<TreeFile | undefined>;
}

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

const isSmall = ({ size }: { size: number }): boolean => size <= SMALL_BYTES;

function levelFor(name: string): number {
  return COMPRESSED.has(path.extname(name).slice(1).toLowerCase()) ? STORED : FAST;
}

/** `c:x`, which is a fine name here and a drive elsewhere, as one that no system takes for absolute. */
function nameInZip(name: string): string {
  return /^[a-z]:/i.test(name) ? `./${name}` : name;
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
export async function zipTree(
  tree: ZippedTree,
  folder: string,
  isLeftOut: LeftOut = () => false,
): Promise<Readable> {
  const first = await tree.list(folder);
  const batches = itemsIn(listingsOf(tree, folder, first), folder, isLeftOut);
  const out = Readable.from(joined(new TreeZip(tree).bytes(batches)), {
    objectMode: false,
    highWaterMark: PIECE_BYTES,
  });
  // An error without a listener would end the process; the reader may not be there yet.
  return out.on('error', () => undefined);
}

async function* listingsOf(
  tree: ZippedTree,
  folder: string,
  first: Awaited<ReturnType<ZippedTree['list']>>,
): AsyncGenerator<readonly TreeEntry[]> {
  yield first.entries;
  for (let { next } = first; next !== null; ) {
    const listing = await tree.list(folder, next);
    yield listing.entries;
    next = listing.next;
  }
}

interface Item {
  readonly entry: TreeEntry;
  readonly name: string;
}

async function* itemsIn(
  listings: AsyncIterable<readonly TreeEntry[]>,
  folder: string,
  isLeftOut: LeftOut,
): AsyncGenerator<Item[]> {
  const skip = folder === '' ? 0 : folder.length + 1;
  for await (const entries of listings) {
    const wanted = entries
      .map(entry => ({ entry, name: entry.path.slice(skip) }))
      .filter(({ name }) => !name.includes('\\') && !isLeftOut(name));
    yield* batchesOf(wanted);
  }
}

/** Of a batch, only the first may be over the bound. */
function* batchesOf(items: readonly Item[]): Generator<Item[]> {
  let batch: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const { size } = item.entry;
    if (batch.length > 0 && (batch.length === BATCH.files || bytes + size > BATCH.bytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

class TreeZip {
  private readonly zip = new ZipWriter();
  private sinceBreath = 0;

  constructor(private readonly tree: ZippedTree) {}

  async *bytes(batches: AsyncIterable<Item[]>): AsyncGenerator<Buffer> {
    for await (const batch of batches) {
      const contents = await Promise.all(batch.map(({ entry }) => this.contentOf(entry)));
      for (const [at, item] of batch.entries()) yield* this.bytesOf(item, contents[at]);
    }
    yield* this.zip.end();
  }

  private async contentOf(entry: TreeEntry): Promise<Buffer | 'large' | undefined> {
    if (entry.type !== 'file') return undefined;
    if (!isSmall(entry)) return 'large';
    const file = await this.tree.open(entry.path);
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
    const file = await this.tree.open(item.entry.path);
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
