import { chown, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Owner } from './sandbox.js';
import { scratchFolder } from './scratch-folder.js';

/** The standard input of one command: a file, which can also be opened by its name /dev/stdin. */
export class InputFile {
  private constructor(private readonly folder: string) {}

  /** @param owner who may read it, if not this process' user */
  static async create(content: string | Buffer, owner: Owner | undefined): Promise<InputFile> {
    const file = new InputFile(await scratchFolder(tmpdir(), 'sandbox-input'));
    await writeFile(file.path, content, { mode: 0o444 });
    if (owner) await chown(file.folder, owner.uid, owner.gid);
    return file;
  }

  get path(): string {
    return join(this.folder, 'content');
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
