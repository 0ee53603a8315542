import { Injectable } from '@nestjs/common';

/** Most characters of text that are kept, over all workspaces. */
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** What a reading weighs besides its text. */
export const OVERHEAD = 500;
/** A file that was changed this short a time before it was read may be changed again within one tick of its clock. */
export const SETTLED_MS = 2_000;

/** Which version of a file: its entity tag, and when it was last changed. */
interface FileVersion {
  readonly path: string;
  readonly etag: string | null;
  readonly modified_at: string;
}

interface Kept {
  readonly etag: string;
  readonly value: unknown;
  readonly weight: number;
}

/** What was made of files, for as long as they stay as they are; the longest unused goes first. */
@Injectable()
export class ReadingCache {
  private readonly kept = new Map<string, Kept>();
  private characters = 0;

  /** What `read` made of this version of the file, now or earlier; `weigh` tells its length in characters. */
  async of<T>(
    workspaceId: string,
    file: FileVersion,
    read: () => Promise<{ value: T; weight: number }>,
  ): Promise<T> {
    const key = `${workspaceId}/${file.path}`;
    const found = this.kept.get(key);
    if (found && found.etag === file.etag) {
      this.kept.delete(key);
      this.kept.set(key, found);
      return found.value as T;
    }
    const isSettled = Date.now() - Date.parse(file.modified_at) > SETTLED_MS;
    const { value, weight } = await read();
    this.drop(key);
    if (file.etag !== null && isSettled) this.keep(key, { etag: file.etag, value, weight });
    return value;
  }

  private keep(key: string, entry: Kept): void {
    this.kept.set(key, entry);
    this.characters += entry.weight;
    for (const oldest of this.kept.keys()) {
      if (this.characters <= MAX_CHARACTERS) return;
      this.drop(oldest);
    }
  }

  private drop(key: string): void {
    this.characters -= this.kept.get(key)?.weight ?? 0;
    this.kept.delete(key);
  }
}
