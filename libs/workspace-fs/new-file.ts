import { type BigIntStats, constants } from 'node:fs';
import { copyFile, type FileHandle } from 'node:fs/promises';
import { untilAborted } from './abort.js';
import type { Owner } from './destination.js';
import type { Directory } from './directory.js';
import { asWorkspaceError, WorkspaceFsError } from './errors.js';
import { quotePath } from './quote-path.js';

// Without set-user-id and its like: the file is about to change hands.
const PERMISSIONS = 0o777n;

/** A file being written, which only the service can read until it is finished. */
export class NewFile {
  private bytes = 0;

  private constructor(
    private readonly handle: FileHandle,
    /** The path that errors name. */
    private readonly path: string,
    private readonly maxBytes: number,
  ) {}

  static async create(folder: Directory, name: string, path: string, maxBytes: number): Promise<NewFile> {
    return new NewFile(await folder.createFile(name, path), path, maxBytes);
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
    await this.attempt(async () => {
      for (let done = 0; done < chunk.byteLength; ) {
        done += (await this.handle.write(chunk, done)).bytesWritten;
      }
    });
  }

  async appendAll(source: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): Promise<void> {
    for await (const chunk of untilAborted(source, signal, this.path)) await this.append(chunk);
  }

  /** Takes over the `bytes` of an open file; on Linux the kernel copies, and shares blocks where the disk can. */
  async fillFrom(source: FileHandle, bytes: number): Promise<void> {
    this.expect(bytes);
    this.bytes = bytes;
    await this.attempt(async () => {
      if (process.platform === 'linux')
        await copyFile(
          `/proc/self/fd/${source.fd}`,
          `/proc/self/fd/${this.handle.fd}`,
          constants.COPYFILE_FICLONE,
        );
      else await this.handle.writeFile(source.createReadStream({ start: 0, autoClose: false }));
    });
  }

  async setModified(milliseconds: number): Promise<void> {
    await this.attempt(() => this.handle.utimes(milliseconds / 1000, milliseconds / 1000));
  }

  /** Hands it over, durably. */
  async finish(owner: Owner | undefined, mode: bigint): Promise<void> {
    await this.attempt(async () => {
      if (owner) await this.handle.chown(owner.uid, owner.gid);
      await this.handle.chmod(Number(mode & PERMISSIONS));
      await this.handle.sync();
    });
  }

  stats(): Promise<BigIntStats> {
    return this.handle.stat({ bigint: true });
  }

  close(): Promise<void> {
    return this.handle.close();
  }

  private async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw asWorkspaceError(error, this.path);
    }
  }
}

export function tooLarge(path: string, maxBytes: number): WorkspaceFsError {
  const message = `${quotePath(path)} is larger than the ${maxBytes} bytes a file may have here`;
  return new WorkspaceFsError('too_large', path, message);
}
