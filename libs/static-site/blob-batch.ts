import { hash as digestOf, randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { type BlobFolder, fileName, SMALL_BYTES, TEMPORARY } from './blob-folder.js';
import { type CompressedSizes, compressBytes, isWorthCompressing } from './compression.js';
import type { Encoding } from './conditions.js';

/** How a batch does its work. */
export interface BatchOptions {
  /** Does something small with files at once where that is quick, else later. */
  atOnce<T>(now: () => T, later: () => Promise<T>): T | Promise<T>;
  /** Makes durable all that was written below a folder, whose path is absolute. */
  flush(folder: string): Promise<void>;
}

/** Up to so many files are made durable one by one: all of a disk may hold more than theirs. */
const FEW = 16;

/** Files that get their names before others have their turn. */
const NAMED_AT_ONCE = 128;

const openLater = promisify(fs.open);
const writeLater = promisify(fs.write);
const syncLater = promisify(fs.fsync);

const ENCODINGS: readonly Encoding[] = ['br', 'gz'];

/**
 * Many small files for one folder of blobs: written aside, made durable together, and only then named. A blob that has its name is
 * whole whenever the machine stops. Call {@link place} in the end, or {@link discard}.
 */
export class BlobBatch {
  readonly #id = randomUUID();
  /** By the name that it will have: where it is so far. */
  readonly #staged = new Map<string, { temporary: string; bytes: number }>();
  readonly #shards = new Set<string>();
  #prepared: Promise<unknown> | undefined;

  constructor(
    private readonly blobs: BlobFolder,
    private readonly options: BatchOptions,
  ) {}

  /** Takes the bytes of a file, of at most {@link SMALL_BYTES}, and says what they are. */
  async put(bytes: Buffer): Promise<{ hash: string; size: number }> {
    const hash = digestOf('sha256', bytes, 'hex');
    await this.#stage(fileName(hash), bytes);
    return { hash, size: bytes.byteLength };
  }

  /** As {@link BlobFolder.compress}, of bytes that are at hand. */
  async compress(hash: string, bytes: Buffer, type: string): Promise<CompressedSizes> {
    if (!isWorthCompressing(bytes.byteLength, type)) return {};
    const sizes: CompressedSizes = {};
    for (const encoding of ENCODINGS) {
      const stored = await this.blobs.stored(hash, encoding);
      const made = stored === undefined ? await compressBytes(bytes, encoding) : undefined;
      if (made) await this.#stage(fileName(hash, encoding), made);
      const size = stored ?? made?.byteLength;
      if (size !== undefined) sizes[encoding] = size;
    }
    return sizes;
  }

  /** Gives what was taken its names: durable when it resolves. */
  async place(): Promise<void> {
    if (this.#staged.size === 0) return;
    const many = this.#staged.size > FEW;
    if (many) await this.options.flush(this.blobs.path);
    else for (const { temporary } of this.#staged.values()) await syncFile(temporary);
    let named = 0;
    for (const [name, { temporary, bytes }] of this.#staged) {
      if (++named % NAMED_AT_ONCE === 0) await new Promise(setImmediate);
      const target = path.join(this.blobs.path, name.slice(0, 2), name);
      await this.#makeFolder(path.dirname(target));
      await this.options.atOnce(
        () => fs.renameSync(temporary, target),
        () => fs.promises.rename(temporary, target),
      );
      this.#staged.delete(name);
      this.blobs.placed(path.dirname(target), bytes);
    }
    if (!many) return this.blobs.sync();
    await this.options.flush(this.blobs.path);
    this.blobs.flushed();
  }

  /** Removes what has no name yet. */
  async discard(): Promise<void> {
    for (const { temporary } of this.#staged.values()) await fs.promises.rm(temporary, { force: true });
    this.#staged.clear();
  }

  /** Unless it is there, which makes it as new as if it were written now. */
  async #stage(name: string, bytes: Buffer): Promise<void> {
    if (this.#staged.has(name)) return;
    const place = path.join(this.blobs.path, name.slice(0, 2), name);
    const isThere = await this.options.atOnce(
      () => touchNow(place),
      () => this.blobs.touched(place),
    );
    if (isThere) return;
    const folder = path.join(this.blobs.path, TEMPORARY);
    this.#prepared ??= fs.promises.mkdir(folder, { recursive: true, mode: 0o750 });
    await this.#prepared;
    // The same bytes may have come meanwhile.
    if (this.#staged.has(name)) return;
    const temporary = path.join(folder, `${this.#id}.${name}`);
    this.#staged.set(name, { temporary, bytes: bytes.byteLength });
    await this.options.atOnce(
      () => writeNow(temporary, bytes),
      () => writeLate(temporary, bytes),
    );
  }

  async #makeFolder(folder: string): Promise<void> {
    if (this.#shards.has(folder)) return;
    await this.options.atOnce(
      () => void fs.mkdirSync(folder, { recursive: true, mode: 0o750 }),
      async () => void (await fs.promises.mkdir(folder, { recursive: true, mode: 0o750 })),
    );
    this.#shards.add(folder);
  }
}

function touchNow(place: string): boolean {
  // Asked first: an error costs more than the answer.
  if (!fs.statSync(place, { throwIfNoEntry: false })) return false;
  const now = new Date();
  try {
    fs.utimesSync(place, now, now);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function writeNow(file: string, bytes: Buffer): void {
  const fd = fs.openSync(file, 'wx', 0o440);
  try {
    for (let at = 0; at < bytes.byteLength; ) at += fs.writeSync(fd, bytes, at);
  } finally {
    fs.closeSync(fd);
  }
}

async function writeLate(file: string, bytes: Buffer): Promise<void> {
  const fd = await openLater(file, 'wx', 0o440);
  try {
    for (let at = 0; at < bytes.byteLength; ) at += (await writeLater(fd, bytes, at)).bytesWritten;
  } finally {
    fs.closeSync(fd);
  }
}

async function syncFile(file: string): Promise<void> {
  const fd = await openLater(file, 'r');
  try {
    await syncLater(fd);
  } finally {
    fs.closeSync(fd);
  }
}
