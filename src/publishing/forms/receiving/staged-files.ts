import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { TooLarge } from '../../../platform/errors/index.js';
import { sizeInWords } from '../../exposure/index.js';
import { LIMITS } from '../file/form-definition.js';
import type { HandedFile } from '../records/submissions.store.js';

/**
 * Files that were handed in and are not in their workspace yet: `DATA_DIR/forms/<form>/<submission>/<number>`. They are there
 * before the row that names them, and until it is written.
 */
@Injectable()
export class StagedFiles {
  private readonly root: string;

  constructor(config: Config) {
    this.root = path.join(config.dataDir, 'forms');
  }

  /** Takes one file in; durable when it returns. 413 where it is too large. */
  async put(formId: string, id: string, number: number, bytes: AsyncIterable<Uint8Array>): Promise<number> {
    const folder = this.folderOf(formId, id);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const file = await open(path.join(folder, String(number)), 'wx', 0o600);
    try {
      let size = 0;
      for await (const chunk of bytes) {
        size += chunk.byteLength;
        if (size > LIMITS.fileUploadBytes)
          throw new TooLarge(`A file may have at most ${sizeInWords(LIMITS.fileUploadBytes)}`);
        await file.writeFile(chunk);
      }
      await file.sync();
      return size;
    } finally {
      await file.close();
    }
  }

  /** The names of the files are in the folder when this returns. */
  async settle(formId: string, id: string): Promise<void> {
    const folder = await open(this.folderOf(formId, id), 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  read(formId: string, id: string, { number }: HandedFile): Readable {
    return createReadStream(path.join(this.folderOf(formId, id), String(number)));
  }

  /** Whether it still waits here. */
  async has(formId: string, id: string, { number }: HandedFile): Promise<boolean> {
    try {
      await stat(path.join(this.folderOf(formId, id), String(number)));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  }

  async remove(formId: string, id: string): Promise<void> {
    await rm(this.folderOf(formId, id), { recursive: true, force: true });
  }

  /** Folders of submissions that were last touched so long ago, by form. */
  async *old(milliseconds: number): AsyncGenerator<{ formId: string; ids: string[] }> {
    for (const formId of await names(this.root)) {
      const ids: string[] = [];
      for (const id of await names(path.join(this.root, formId))) {
        const { mtimeMs } = await stat(this.folderOf(formId, id));
        if (mtimeMs < Date.now() - milliseconds) ids.push(id);
      }
      if (ids.length > 0) yield { formId, ids };
    }
  }

  private folderOf(formId: string, id: string): string {
    return path.join(this.root, formId, id);
  }
}

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
