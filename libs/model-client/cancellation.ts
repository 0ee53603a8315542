/** What may end a call before its time. */
export interface Cancellation {
  /** Why it is over; undefined as long as it is not. */
  readonly reason: unknown;
  /** Called once, with the reason. */
  onCancel(listener: (reason: unknown) => void): void;
  offCancel(listener: (reason: unknown) => void): void;
}

/** That of a signal, whose listeners take far more processor time. */
export class SignalCancellation implements Cancellation {
  readonly #listeners = new Map<(reason: unknown) => void, () => void>();

  constructor(private readonly signal: AbortSignal) {}

  get reason(): unknown {
    return this.signal.aborted ? this.signal.reason : undefined;
  }

  onCancel(listener: (reason: unknown) => void): void {
    const onAbort = () => listener(this.signal.reason);
    this.#listeners.set(listener, onAbort);
    this.signal.addEventListener('abort', onAbort, { once: true });
  }

  offCancel(listener: (reason: unknown) => void): void {
    const onAbort = this.#listeners.get(listener);
    if (onAbort) this.signal.removeEventListener('abort', onAbort);
    this.#listeners.delete(listener);
  }
}
