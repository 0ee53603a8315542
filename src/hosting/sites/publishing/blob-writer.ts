import {
  type BlobBatch,
  type BlobFolder,
  BlobTooLarge,
  type CollectedFile,
  type CompressedSizes,
  looksHashed,
  type Manifest,
  mediaTypeOf,
  SMALL_BYTES,
} from '#libs/static-site/index.js';
import type { OpenFile } from '#libs/workspace-fs/index.js';
import { BuildFailure } from '../../builds/index.js';

/** Stores files of a version as blobs. Files that browsers keep for a year are compressed at once, others later. */
export class BlobWriter {
  private readonly forms = new Map<string, CompressedSizes>();
  private left: number;

  constructor(
    private readonly blobs: BlobFolder,
    private readonly batch: BlobBatch,
    earlier: readonly Manifest[],
    private readonly maxBytes: number,
  ) {
    this.left = maxBytes;
    for (const { files } of earlier)
      for (const { hash, br, gz } of files)
        if (br !== undefined || gz !== undefined) this.forms.set(hash, { br, gz });
  }

  /** Throws BuildFailure if the site exceeds its size limit. */
  async take(file: OpenFile): Promise<CollectedFile> {
    const { path } = file.entry;
    const type = mediaTypeOf(path);
    const isSmall = file.entry.size <= SMALL_BYTES;
    const bytes = isSmall ? await file.bytes() : undefined;
    const { hash, size } = bytes ? await this.batch.put(bytes) : await this.stream(file);
    this.left -= size;
    if (this.left < 0) throw this.tooLarge();
    const known = this.forms.get(hash);
    if (known || !looksHashed(path)) return { path, hash, size, type, ...known };
    const made = bytes
      ? await this.batch.compress(hash, bytes, type)
      : await this.blobs.compress(hash, size, type);
    return { path, hash, size, type, ...made };
  }

  /** Durable when it resolves. */
  async place(): Promise<void> {
    await this.batch.place();
    await this.blobs.sync();
  }

  discard(): Promise<void> {
    return this.batch.discard();
  }

  private async stream(file: OpenFile): Promise<{ hash: string; size: number }> {
    try {
      return await this.blobs.put(file.part(0, file.entry.size), { maxBytes: Math.max(0, this.left) });
    } catch (error) {
      if (error instanceof BlobTooLarge) throw this.tooLarge();
      throw error;
    }
  }

  private tooLarge(): BuildFailure {
    return new BuildFailure(`The site is larger than ${this.maxBytes} bytes, which is the most.`);
  }
}
