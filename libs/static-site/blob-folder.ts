import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, rename, stat, unlink, utimes } from 'node:fs/promises';
import path from 'node:path';
import { type CompressedSizes, compressFile, isWorthCompressing } from './compression.js';
import type { Encoding } from './conditions.js';

/** What was to be stored is longer than allowed. */
export class BlobTooLarge extends Error {
  constructor(readonly maxBytes: number) {
    super(`The file is longer than ${maxBytes} bytes`);
  }
}

/** A blob that a manifest names is not in its folder. */
export class BlobMissing extends Error {
  constructor(
    readonly hash: string,
    readonly encoding: Encoding | undefined,
  ) {
    super(`The blob ${fileName(hash, encoding)} is missing`);
  }
}

/** Removed by a sweep: files, and what they had in bytes. */
export interface Swept {
  removed: number;
  bytes: number;
}

export const TEMPORARY = 'tmp';

const ENCODINGS: readonly Encoding[] = ['br', 'gz'];

/** Up to this size a file is held in memory: streams cost more than the work does. */
export const SMALL_BYTES = 256 * 1024;

/** Folders that are read at the same time. */
const SHARDS_AT_ONCE = 4;

/** Files that are looked at while a folder is. */
const FILES_AT_ONCE = 16;

/** A file that has no name of its own yet. */
class Temporary {
  constructor(
    readonly name: string,
    readonly file: FileHandle,
  ) {}

  async discard(): Promise<void> {
    await this.file.close();
    await discard(this.name);
  }
}

/**
 * A folder of files by their sha256: `<path>/<ab>/<hash>`, and beside it `<hash>.br` and `<hash>.gz`. Each is written whole under
 * another name, fsynced, made read-only (0440) and linked to its own: whoever finds it finds all of it. Several processes may write
 * and sweep at once.
 */
export class BlobFolder {
  readonly #made = new Set<string>();
  #addedBytes = 0;

  /** `path` is absolute; it is made when something is put into it. */
  constructor(readonly path: string) {}

  /** What this object has stored that was not there. */
  get addedBytes(): number {
    return this.#addedBytes;
  }

  /**
   * Stores what `source` gives, and says what it is. The same bytes twice are one file. Call it a few times at once: each waits for
   * the disk. Rejects with {@link BlobTooLarge}, or with what the source throws, and leaves nothing behind. Call {@link sync}
   * before something durable refers to the blob.
   */
  async put(
    source: AsyncIterable<Uint8Array>,
    { maxBytes }: { maxBytes: number },
  ): Promise<{ hash: string; size: number }> {
    const sum = createHash('sha256');
    const held: Uint8Array[] = [];
    let temporary: Temporary | undefined;
    let size = 0;
    try {
      for await (const chunk of source) {
        size += chunk.length;
        if (size > maxBytes) throw new BlobTooLarge(maxBytes);
        sum.update(chunk);
        held.push(chunk);
        if (size <= SMALL_BYTES) continue;
        temporary ??= await this.#temporary();
        await temporary.file.writev(held.splice(0));
      }
      const hash = sum.digest('hex');
      if (await this.touched(this.#place(hash))) return { hash, size };
      temporary ??= await this.#temporary();
      if (held.length > 0) await temporary.file.writev(held);
      await this.#settle(temporary, fileName(hash), size);
      return { hash, size };
    } finally {
      await temporary?.discard();
    }
  }

  /**
   * Makes the br and gzip forms of a stored file, where its type is worth it and they save more than a tenth; answers their bytes.
   * Forms that are there already are not made again. The work is done by zlib's threads, two files at a time in this process.
   * Rejects with {@link BlobMissing}.
   */
  async compress(hash: string, size: number, type: string): Promise<CompressedSizes> {
    if (!isWorthCompressing(size, type)) return {};
    const sizes: CompressedSizes = {};
    for (const encoding of ENCODINGS) {
      const made = (await this.stored(hash, encoding)) ?? (await this.#compressTo(encoding, hash, size));
      if (made !== undefined) sizes[encoding] = made;
    }
    return sizes;
  }

  /** Stores a form where it is worth it; answers its bytes. */
  async #compressTo(encoding: Encoding, hash: string, size: number): Promise<number | undefined> {
    const temporary = await this.#temporary();
    try {
      const source = await this.open(hash);
      const made = await compressFile(source, size, encoding, temporary.file).finally(() => source.close());
      if (made !== undefined) await this.#settle(temporary, fileName(hash, encoding), made);
      return made;
    } finally {
      await temporary.discard();
    }
  }

  /** Opens a stored form for reading. Rejects with {@link BlobMissing}, or as the disk does. */
  async open(hash: string, encoding?: Encoding): Promise<FileHandle> {
    try {
      // Never through a link, and never waiting for somebody to write to a pipe.
      return await open(
        this.#place(hash, encoding),
        constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
      );
    } catch (error) {
      throw isMissing(error) ? new BlobMissing(hash, encoding) : error;
    }
  }

  /** Where a stored form is below {@link path}: `ab/abcd….br`. Throws a TypeError for what is no sha256. */
  relative(hash: string, encoding?: Encoding): string {
    if (!/^[0-9a-f]{64}$/.test(hash)) throw new TypeError('The hash is not a sha256 in hexadecimal digits');
    return `${hash.slice(0, 2)}/${fileName(hash, encoding)}`;
  }

  /** Makes the names of what was put durable, all at once: to be called before a database refers to them. */
  async sync(): Promise<void> {
    const folders = [...this.#made];
    this.#made.clear();
    try {
      for (const folder of [this.path, ...folders]) await syncFolder(folder);
    } catch (error) {
      for (const folder of folders) this.#made.add(folder);
      throw error;
    }
  }

  /**
   * Removes what is not to be kept and was not put within `olderThanMs`, with its forms; also what broken writes left. `keep` are
   * hashes, or says of one whether it is kept.
   */
  async sweep(keep: Iterable<string> | ((hash: string) => boolean), olderThanMs: number): Promise<Swept> {
    const kept = typeof keep === 'function' ? keep : hasOf(keep);
    const before = Date.now() - olderThanMs;
    const swept = { removed: 0, bytes: 0 };
    await this.#each(async (file, folder) => {
      if (folder !== TEMPORARY && kept(file.slice(0, 64))) return;
      const bytes = await this.#removeOld(path.join(this.path, folder, file), before);
      if (bytes === undefined) return;
      swept.removed++;
      swept.bytes += bytes;
    });
    return swept;
  }

  /** Bytes of all that is stored, with its forms. */
  async bytes(): Promise<number> {
    let total = 0;
    await this.#each(async (file, folder) => {
      const found = await sizeAndTime(path.join(this.path, folder, file));
      total += found?.size ?? 0;
    });
    return total;
  }

  /** @internal Something has got its name in a folder. */
  placed(folder: string, bytes: number): void {
    this.#made.add(folder);
    this.#addedBytes += bytes;
  }

  /** @internal All names are durable. */
  flushed(): void {
    this.#made.clear();
  }

  /** @internal Makes a file as new as if it were written now; false where there is none. */
  async touched(file: string): Promise<boolean> {
    const now = new Date();
    try {
      await utimes(file, now, now);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  #place(hash: string, encoding?: Encoding): string {
    return path.join(this.path, this.relative(hash, encoding));
  }

  async #temporary(): Promise<Temporary> {
    const name = this.#temporaryName();
    try {
      return new Temporary(name, await open(name, 'wx', 0o440));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    await mkdir(path.dirname(name), { recursive: true, mode: 0o750 });
    return new Temporary(name, await open(name, 'wx', 0o440));
  }

  #temporaryName(): string {
    return path.join(this.path, TEMPORARY, randomUUID());
  }

  /** Gives a written file its name, unless there is one already: that one counts as new for sweeps. */
  async #settle({ file, name: temporary }: Temporary, name: string, bytes: number): Promise<void> {
    const folder = path.join(this.path, name.slice(0, 2));
    const place = path.join(folder, name);
    await file.sync();
    for (;;) {
      try {
        await link(temporary, place);
        this.placed(folder, bytes);
        return;
      } catch (error) {
        if (isMissing(error)) await mkdir(folder, { recursive: true, mode: 0o750 });
        else if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        // A sweep may take it away between the two.
        else if (await this.touched(place)) return;
      }
    }
  }

  /** Bytes of a form that is there, which makes it new; undefined where there is none. */
  async stored(hash: string, encoding: Encoding): Promise<number | undefined> {
    const place = this.#place(hash, encoding);
    return (await this.touched(place)) ? (await sizeAndTime(place))?.size : undefined;
  }

  /**
   * Its bytes; undefined where it stays. It is taken aside first: whoever puts the same bytes meanwhile either has made it new before,
   * and then it is put back, or finds nothing and writes it again.
   */
  async #removeOld(place: string, before: number): Promise<number | undefined> {
    const found = await sizeAndTime(place);
    if (!found || found.mtimeMs > before) return undefined;
    const aside = this.#temporaryName();
    try {
      await mkdir(path.dirname(aside), { recursive: true, mode: 0o750 });
      await rename(place, aside);
      const taken = await sizeAndTime(aside);
      if (taken && taken.mtimeMs > before) {
        await link(aside, place).catch(ignoring('EEXIST'));
        return undefined;
      }
      return found.size;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    } finally {
      await discard(aside);
    }
  }

  async #each(look: (file: string, folder: string) => Promise<void>): Promise<void> {
    const folders = (await namesIn(this.path)).filter(
      name => name === TEMPORARY || /^[0-9a-f]{2}$/.test(name),
    );
    await atOnce(folders, SHARDS_AT_ONCE, async folder => {
      const files = await namesIn(path.join(this.path, folder));
      await atOnce(files, FILES_AT_ONCE, file => look(file, folder));
    });
  }
}

export const fileName = (hash: string, encoding?: Encoding): string =>
  encoding === undefined ? hash : `${hash}.${encoding}`;

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

const ignoring =
  (code: string) =>
  (error: unknown): void => {
    if ((error as NodeJS.ErrnoException).code !== code) throw error;
  };

const discard = (file: string): Promise<void> => unlink(file).catch(ignoring('ENOENT'));

async function sizeAndTime(file: string): Promise<{ size: number; mtimeMs: number } | undefined> {
  try {
    return await stat(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY).catch(ignoring('ENOENT'));
  if (!handle) return;
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function hasOf(hashes: Iterable<string>): (hash: string) => boolean {
  const set = new Set(hashes);
  return hash => set.has(hash);
}

async function atOnce<T>(
  items: readonly T[],
  workers: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await work(items[next++] as T);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}
