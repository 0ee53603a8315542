import { type BigIntStats, closeSync, fstatSync } from 'node:fs';
import { HeldDescriptor } from './held-descriptor.js';
import { type KernelPath, openDescriptor, readSome } from './system-calls.js';

/** The kernel is done with the blocks of less than this in no time. */
const MANY_BYTES = 16 * 1024 * 1024;

/** A file that is open for reading. */
export class Descriptor {
  private constructor(
    private readonly held: HeldDescriptor,
    /** What it was when it was opened. */
    readonly stats: BigIntStats,
  ) {}

  static async open(path: KernelPath, flags: number): Promise<Descriptor> {
    const fd = await openDescriptor(path, flags);
    try {
      return new Descriptor(new HeldDescriptor(fd), fstatSync(fd, { bigint: true }));
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Whether no one has written to it since it was opened. */
  isUnchanged(): boolean {
    const now = fstatSync(this.held.number, { bigint: true });
    return now.mtimeNs === this.stats.mtimeNs && now.size === this.stats.size;
  }

  /** Bytes from `position` on into `target`; how many there were, 0 at the end. */
  read(target: Buffer, position: number): Promise<number> {
    return this.held.use(fd => readSome(fd, target, position));
  }

  /** Runs work with the descriptor's number, which no other file gets before that has ended. */
  use<T>(work: (fd: number) => Promise<T>): Promise<T> {
    return this.held.use(work);
  }

  /** Waits for what is under way. Safe twice. The last to close a file that was deleted frees its blocks. */
  close(): Promise<void> {
    return this.held.close(this.stats.size > MANY_BYTES);
  }
}
