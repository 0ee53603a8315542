import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Anyone may read it who is handed the descriptor; no one else can reach it. */
const READ_ONLY = { mode: 0o444 };

/**
 * A fixed text that child processes read from a descriptor. It is written once, has no name (so nothing on
 * the host can change or clean it away) and is held open for as long as the service lives.
 */
export class AnonymousFile {
  private readonly descriptor: number;

  constructor(content: string) {
    const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
    try {
      const path = join(folder, 'content');
      writeFileSync(path, content, READ_ONLY);
      this.descriptor = openSync(path, 'r');
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  /** A descriptor that reads from the beginning: readers of one and the same would share their position. */
  open(): number {
    return openSync(`/proc/self/fd/${this.descriptor}`, 'r');
  }
}
