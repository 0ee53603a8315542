import type { Signals } from './signals.js';

/**
 * Waits for signals without missing one: subscribe first, look at the database, then wait. A signal that comes while its
 * owner is looking makes the next wait return at once.
 */
export class WakeUp {
  private woken = false;
  private resolve: (() => void) | undefined;
  private readonly unsubscribe: () => void;

  constructor(signals: Signals, topic: string) {
    this.unsubscribe = signals.subscribe(topic, () => this.wake());
  }

  wake(): void {
    this.woken = true;
    this.resolve?.();
  }

  /** Until the next signal, or until `signal` is aborted. */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.woken && !signal.aborted) {
      const wake = () => this.wake();
      signal.addEventListener('abort', wake, { once: true });
      await new Promise<void>(resolve => {
        this.resolve = resolve;
      });
      signal.removeEventListener('abort', wake);
    }
    this.woken = false;
    this.resolve = undefined;
  }

  close(): void {
    this.unsubscribe();
  }
}
