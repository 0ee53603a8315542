import { readSync } from 'node:fs';
import { Socket } from 'node:net';

const buffer = Buffer.allocUnsafe(64 * 1024);

/** Reads a pipe as it fills, and on demand all that is in it: one that others hold open has no end to wait for. */
export class PipeSocket extends Socket {
  /** @param fd the reading end, which does not block; closed with the socket */
  constructor(private readonly fd: number) {
    super({ fd, readable: true, writable: false });
  }

  /** Emits as `data` what is in the pipe now, about `most` bytes of it: a writer may be as fast as we are. */
  drain(most: number): void {
    for (let read = 0; !this.destroyed && read < most; ) {
      const bytes = readNow(this.fd);
      if (bytes === 0) return;
      read += bytes;
      this.emit('data', Buffer.from(buffer.subarray(0, bytes)));
    }
  }
}

/** Reads once from a descriptor that does not block; 0 if there is nothing now. */
function readNow(fd: number): number {
  try {
    return readSync(fd, buffer);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
    throw error;
  }
}

/** What is in a pipe now, about `most` bytes of it. */
export function readWaiting(fd: number, most: number): Buffer {
  const chunks: Buffer[] = [];
  for (let read = 0; read < most; ) {
    const bytes = readNow(fd);
    if (bytes === 0) break;
    read += bytes;
    chunks.push(Buffer.from(buffer.subarray(0, bytes)));
  }
  return Buffer.concat(chunks);
}
