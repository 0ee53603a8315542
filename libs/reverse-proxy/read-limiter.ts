import type { Duplex } from 'node:stream';

/** Bytes that one connection may bring before all others have their turn. */
export const TURN_BYTES = 128 * 1024;

/** Pauses a connection while its reader is held up, and for a turn of the event loop after each {@link TURN_BYTES}. */
export class ReadLimiter {
  private bytes = 0;
  private isHeld = false;
  private isYielding = false;

  constructor(private readonly source: Duplex) {}

  /** Counts bytes that came. */
  count(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes < TURN_BYTES || this.isYielding) return;
    this.isYielding = true;
    this.source.pause();
    setImmediate(this.takeTurn);
  }

  /** Lets nothing more come until {@link release}. */
  hold(): void {
    this.isHeld = true;
    this.source.pause();
  }

  readonly release = (): void => {
    this.isHeld = false;
    if (!this.isYielding && this.source.isPaused()) this.source.resume();
  };

  private readonly takeTurn = (): void => {
    this.bytes = 0;
    this.isYielding = false;
    if (!this.isHeld) this.source.resume();
  };
}
