import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';

/** A file with one key of 32 bytes as `id:base64` a line, readable by its owner alone. */
export class KeyFile {
  constructor(readonly path: string) {}

  /** Its text; undefined where there is no file. */
  read(): string | undefined {
    try {
      return readFileSync(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Makes the file with one key. Of several processes that do so at once, all end with the file of the first. */
  create(): void {
    this.writeBeside(newKey(), temporary => {
      try {
        // Unlike a rename, a link never replaces what is there.
        linkSync(temporary, this.path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    });
  }

  /** Puts a new key before the others. */
  addFirst(): void {
    this.writeBeside(`${newKey()}${this.read() ?? ''}`, temporary => renameSync(temporary, this.path));
  }

  /** Writes a temporary file to the disk, and lets `place` give it its name. */
  private writeBeside(text: string, place: (temporary: string) => void): void {
    const temporary = `${this.path}.${randomBytes(6).toString('hex')}`;
    const file = openSync(temporary, 'wx', 0o600);
    try {
      writeSync(file, text);
      fsyncSync(file);
      place(temporary);
    } finally {
      closeSync(file);
      rmSync(temporary, { force: true });
    }
    const folder = openSync(path.dirname(this.path), 'r');
    fsyncSync(folder);
    closeSync(folder);
  }
}

const newKey = () => `${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64')}\n`;
