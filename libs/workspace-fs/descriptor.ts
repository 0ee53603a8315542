import { type BigIntStats, close, closeSync, fstatSync, open, openSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { atOnce } from './at-once.js';
import type { Name } from './directory.js';

const openLater = promisify(open);
const readLater = promisify(read);
const closeLater = promisify(close);

/** Up to this size a read is over before the thread pool would have heard of it. */
const QUICK_BYTES = 64 * 1024;

/** A file that is open for reading. */
export class Descriptor {
  private inFlight = 0;
  private closing: Promise<void> | undefined;
  private whenIdle: (() => void) | undefined;

  private constructor(
    private readonly fd: number,
    readonly stats: BigIntStats,
  ) {}

  static async open(path: Name, flags: number): Promise<Descriptor> {
    const fd = await atOnce(
      () => openSync(path, flags),
      () => openLater(path, flags),
    );
    try {
      return new Descriptor(fd, fstatSync(fd, { bigint: true }));
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Bytes from `position` on into `target`; how many there were, 0 at the end. */
  async read(target: Buffer, position: number): Promise<number> {
    if (this.closing) throw new Error('The file was closed');
    if (target.byteLength > QUICK_BYTES) return this.readThrough(target, position);
    return atOnce(
      () => readSync(this.fd, target, 0, target.byteLength, position),
      () => this.readThrough(target, position),
    );
  }

  private async readThrough(target: Buffer, position: number): Promise<number> {
    this.inFlight++;
    try {
      return (await readLater(this.fd, target, 0, target.byteLength, position)).bytesRead;
    } finally {
      if (--this.inFlight === 0) this.whenIdle?.();
    }
  }

  /** Waits for what is under way: the number may belong to another file as soon as it is closed. Safe twice. */
  close(): Promise<void> {
    this.closing ??= this.closeWhenIdle();
    return this.closing;
  }

  private async closeWhenIdle(): Promise<void> {
    if (this.inFlight > 0)
      await new Promise<void>(resolve => {
        this.whenIdle = resolve;
      });
    // The last one to close a file that was deleted frees its blocks: long work if there are many.
    if (this.stats.size <= QUICK_BYTES) closeSync(this.fd);
    else await closeLater(this.fd);
  }
}
