import { type BigIntStats, constants, fstatSync, fsync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { untilAborted } from './abort.js';
import type { Descriptor } from './descriptor.js';
import type { Owner } from './destination.js';
import type { Directory } from './directory.js';
import { asWorkspaceError, WorkspaceFsError } from './errors.js';
import { HeldDescriptor } from './held-descriptor.js';
import { quotePath } from './quote-path.js';
import { handOver, setModified, writeSome } from './system-calls.js';

const flush = promisify(fsync);

/** More than this is copied by the kernel, which shares blocks where it can; of less it would be slower. */
const SMALL_BYTES = 32 * 1024;

// Without set-user-id and its like: the file is about to change hands.
const PERMISSIONS = 0o777n;

/** A file being written, which only the service can read until it is finished. */
export class NewFile {
  private bytes = 0;

  private constructor(
    private readonly held: HeldDescriptor,
    /** The path that errors name. */
    private readonly path: string,
    private readonly maxBytes: number,
  ) {}

  static async create(folder: Directory, name: string, path: string, maxBytes: number): Promise<NewFile> {
    const fd = await folder.createFile(name, path);
    return new NewFile(new HeldDescriptor(fd), path, maxBytes);
  }

  get size(): number {
    return this.bytes;
  }

  /** @throws WorkspaceFsError too_large if that many bytes are more than it may have */
  expect(bytes: number): void {
    if (bytes > this.maxBytes) throw tooLarge(this.path, this.maxBytes);
  }

  /** @throws WorkspaceFsError too_large, before a byte over the limit is written */
  async append(chunk: Uint8Array): Promise<void> {
    this.bytes += chunk.byteLength;
    if (this.bytes > this.maxBytes) throw tooLarge(this.path, this.maxBytes);
    await this.attempt(async fd => {
      for (let done = 0; done < chunk.byteLength; ) done += await writeSome(fd, chunk, done);
    });
  }

  async appendAll(source: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): Promise<void> {
    for await (const chunk of untilAborted(source, signal, this.path)) await this.append(chunk);
  }

  /** Takes over an open file; on Linux the kernel copies what is large, and shares blocks where the disk can. */
  async fillFrom(source: Descriptor, bytes: number): Promise<void> {
    this.expect(bytes);
    if (bytes <= SMALL_BYTES || process.platform !== 'linux') return this.appendFrom(source, bytes);
    this.bytes = bytes;
    await this.attempt(to =>
      source.use(from =>
        copyFile(`/proc/self/fd/${from}`, `/proc/self/fd/${to}`, constants.COPYFILE_FICLONE),
      ),
    );
  }

  /** Up to `bytes` of it: the file may have become shorter. */
  private async appendFrom(source: Descriptor, bytes: number): Promise<void> {
    const buffer = Buffer.allocUnsafe(Math.min(bytes, SMALL_BYTES));
    while (this.bytes < bytes) {
      const target = buffer.subarray(0, bytes - this.bytes);
      const length = await source.read(target, this.bytes);
      if (length === 0) return;
      await this.append(target.subarray(0, length));
    }
  }

  async setModified(milliseconds: number): Promise<void> {
    await this.attempt(async fd => setModified(fd, milliseconds));
  }

  async handOver(owner: Owner | undefined, mode: bigint): Promise<void> {
    await this.attempt(async fd => handOver(fd, owner, Number(mode & PERMISSIONS)));
  }

  /** Hands it over, durably. */
  async finish(owner: Owner | undefined, mode: bigint): Promise<void> {
    await this.handOver(owner, mode);
    await this.attempt(fd => flush(fd));
  }

  stats(): BigIntStats {
    return fstatSync(this.held.number, { bigint: true });
  }

  /** Waits for what is under way. */
  close(): Promise<void> {
    return this.held.close(this.bytes > SMALL_BYTES);
  }

  private async attempt(work: (fd: number) => Promise<unknown>): Promise<void> {
    try {
      await this.held.use(work);
    } catch (error) {
      throw asWorkspaceError(error, this.path);
    }
  }
}

export function tooLarge(path: string, maxBytes: number): WorkspaceFsError {
  const message = `${quotePath(path)} is larger than the ${maxBytes} bytes a file may have here`;
  return new WorkspaceFsError('too_large', path, message);
}
