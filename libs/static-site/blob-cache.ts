import { LRUCache } from 'lru-cache';
import type { BlobBody } from './answer.js';
import type { BlobFolder } from './blob-folder.js';

/** How much of the memory a cache may use. */
export interface BlobCacheOptions {
  /** Bytes of all files together; by default 64 MiB. */
  maxBytes?: number;
  /** Bytes of a file that is kept the first time it is asked for; by default 256 KiB. */
  maxFileBytes?: number;
  /** Bytes of a file that is kept when it is asked for again; by default a sixteenth of `maxBytes`. */
  maxHotFileBytes?: number;
}

/** Larger files that were asked for once, to tell which are asked for again. */
const MAX_SEEN = 1000;

/**
 * Bytes of files by their hash, the least recently used given up first. Answers share one buffer, so a client that reads slowly
 * costs no copy. One for all sites of a process: what has the same hash is the same.
 */
export class BlobCache {
  readonly #maxFileBytes: number;
  readonly #maxHotFileBytes: number;
  readonly #kept: LRUCache<string, Buffer>;
  readonly #loading = new Map<string, Promise<Buffer>>();
  readonly #seen = new LRUCache<string, true>({ max: MAX_SEEN });

  constructor({
    maxBytes = 64 * 1024 * 1024,
    maxFileBytes = 256 * 1024,
    maxHotFileBytes,
  }: BlobCacheOptions = {}) {
    this.#kept = new LRUCache({
      maxSize: Math.max(1, maxBytes),
      sizeCalculation: ({ length }) => length || 1,
    });
    this.#maxFileBytes = Math.min(maxFileBytes, maxBytes);
    this.#maxHotFileBytes = Math.max(this.#maxFileBytes, maxHotFileBytes ?? Math.floor(maxBytes / 16));
  }

  /** Bytes that are kept now. */
  get bytes(): number {
    return this.#kept.calculatedSize;
  }

  /** The bytes of a stored form, where they are kept. */
  get(body: BlobBody): Buffer | undefined {
    return this.#kept.get(keyOf(body));
  }

  /** Whether a form is to be kept in memory: it is small, or a larger one that has been asked for before. */
  admits(body: BlobBody): boolean {
    if (body.size <= this.#maxFileBytes) return true;
    if (body.size > this.#maxHotFileBytes) return false;
    const key = keyOf(body);
    if (this.#seen.delete(key)) return true;
    this.#seen.set(key, true);
    return false;
  }

  /** Reads a form and keeps it; who asks meanwhile waits for the same. Rejects as {@link BlobFolder.open} does, or when it is cut. */
  load(body: BlobBody, blobs: BlobFolder): Promise<Buffer> {
    const key = keyOf(body);
    // Of one folder only: that another one lacks the file must not be answered here.
    const loadingKey = `${key}\0${blobs.path}`;
    const under = this.#loading.get(loadingKey);
    if (under) return under;
    const loading = read(body, blobs)
      .then(bytes => {
        this.#kept.set(key, bytes);
        return bytes;
      })
      .finally(() => this.#loading.delete(loadingKey));
    this.#loading.set(loadingKey, loading);
    return loading;
  }
}

/** With the size: compressed forms of the same file differ between versions of zlib. */
const keyOf = ({ hash, encoding, size }: BlobBody): string =>
  encoding === undefined ? hash : `${hash}.${encoding}.${size}`;

async function read({ hash, encoding, size }: BlobBody, blobs: BlobFolder): Promise<Buffer> {
  const file = await blobs.open(hash, encoding);
  try {
    // Not a part of Node's pool, which it would keep alive.
    const bytes = Buffer.allocUnsafeSlow(size);
    let at = 0;
    while (at < size) {
      const { bytesRead } = await file.read(bytes, at, size - at, at);
      if (bytesRead === 0)
        throw new Error(`The blob ${blobs.relative(hash, encoding)} has ${at} bytes instead of ${size}`);
      at += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}
