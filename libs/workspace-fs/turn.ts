import { setImmediate } from 'node:timers/promises';
import { throwIfAborted } from './abort.js';

/** Longest time without letting others work. */
const TURN_MS = 15;

/** Long work over many things, done in turns with other work. */
export class Turn {
  private ends = performance.now() + TURN_MS;

  constructor(
    private readonly signal: AbortSignal | undefined,
    /** What errors name. */
    private readonly path: string,
  ) {}

  /** Yields to other work where it is its turn, and stops when no one waits any more. */
  async pass(): Promise<void> {
    if (performance.now() < this.ends) return;
    await setImmediate();
    throwIfAborted(this.signal, this.path);
    this.ends = performance.now() + TURN_MS;
  }
}
