import { close, closeSync } from 'node:fs';
import { promisify } from 'node:util';

const closeLater = promisify(close);

/**
 * The number of an open file, which is not given back before all that uses it has ended: it may belong to another file as soon
 * as it is closed.
 */
export class HeldDescriptor {
  private inFlight = 0;
  private closing: Promise<void> | undefined;
  private whenIdle: (() => void) | undefined;

  constructor(private readonly fd: number) {}

  /** Runs work that may go on after it returned a promise, until that settles. */
  async use<T>(work: (fd: number) => T | Promise<T>): Promise<T> {
    const { number } = this;
    this.inFlight++;
    try {
      return await work(number);
    } finally {
      if (--this.inFlight === 0) this.whenIdle?.();
    }
  }

  /** For what is over when it returns. */
  get number(): number {
    if (this.closing) throw new Error('The file was closed');
    return this.fd;
  }

  /** Safe twice. `isLong` where the kernel may have a lot to do for it. */
  close(isLong: boolean): Promise<void> {
    this.closing ??= this.closeWhenIdle(isLong);
    return this.closing;
  }

  private async closeWhenIdle(isLong: boolean): Promise<void> {
    if (this.inFlight > 0)
      await new Promise<void>(resolve => {
        this.whenIdle = resolve;
      });
    if (isLong) await closeLater(this.fd);
    else closeSync(this.fd);
  }
}
