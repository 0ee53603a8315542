import type { Duplex } from 'node:stream';
import { EgressRefusal } from './refusal.js';

/** Counts what goes over connections, both ways, and ends them when it is too much. */
export class ByteMeter {
  private bytes = 0;

  constructor(private readonly most: number) {}

  /** @throws EgressRefusal if nothing more may go */
  requireRoom(): void {
    if (this.bytes >= this.most)
      throw new EgressRefusal(
        'too_much',
        `${this.most} bytes have been transferred, which is all that is allowed here`,
      );
  }

  /** Counts what was transferred; throws EgressRefusal if that was too much. */
  add(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > this.most) this.requireRoom();
  }

  /** Counts what comes from either of two that are joined. */
  count(...both: [Duplex, Duplex]): void {
    for (const one of both) {
      one.on('data', (chunk: Buffer) => {
        this.bytes += chunk.length;
        if (this.bytes > this.most) for (const each of both) each.destroy();
      });
    }
  }
}
