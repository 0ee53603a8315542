import { execFile } from 'node:child_process';
import { closeSync, constants, fchownSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SandboxFailure } from './errors.js';
import { PipeSocket } from './pipe-socket.js';
import type { Owner } from './sandbox.js';

/** The two ends of a pipe, as descriptors of this process. The taker closes them. */
export interface Pipe {
  /** Does not block. */
  read: number;
  write: number;
}

const BATCH = 24;
const REFILL_BELOW = 8;

/**
 * Pipes for the output of commands.
 *
 * Node gives its children sockets, and a socket cannot be opened by name: `echo failed >/dev/stderr`, which
 * shell scripts are full of, fails with ENXIO. Node cannot make a pipe, so this makes named ones, a batch
 * per call of mkfifo(1), and takes their names away at once. None is used twice.
 */
export class PipePool {
  private readonly spare: number[] = [];
  private refilling: Promise<void> | undefined;

  constructor(private readonly mkfifo: string) {}

  /** @param owner who may open the pipe by way of /dev/stdout and /dev/stderr, if not this process' user */
  async take(owner: Owner | undefined): Promise<Pipe> {
    const fifo = await this.next();
    try {
      if (owner) fchownSync(fifo, owner.uid, owner.gid);
      return openBothEnds(`/proc/self/fd/${fifo}`);
    } finally {
      closeSync(fifo);
    }
  }

  private async next(): Promise<number> {
    let fifo = this.spare.pop();
    while (fifo === undefined) {
      await this.refill();
      fifo = this.spare.pop();
    }
    // Ahead of need and beside the command; should it fail, the call that finds the pool empty gets the error.
    if (this.spare.length < REFILL_BELOW) this.refill().catch(() => undefined);
    return fifo;
  }

  private refill(): Promise<void> {
    this.refilling ??= this.make().finally(() => {
      this.refilling = undefined;
    });
    return this.refilling;
  }

  private async make(): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
    try {
      const paths = Array.from({ length: BATCH }, (_, index) => join(folder, String(index)));
      await promisify(execFile)(this.mkfifo, ['-m', '600', ...paths]);
      // Opened for both directions, a FIFO neither waits for its other end nor reports one missing.
      for (const path of paths) this.spare.push(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
    } catch (error) {
      throw new SandboxFailure(`No pipes could be made in ${tmpdir()}`, { cause: error });
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
}

function openBothEnds(path: string): Pipe {
  const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return { read, write: openSync(path, constants.O_WRONLY) };
  } catch (error) {
    closeSync(read);
    throw error;
  }
}

/** Reads what is written into a pipe; closes its reading end when that is over. */
export function pipeReader(pipe: Pipe): PipeSocket {
  return new PipeSocket(pipe.read);
}
