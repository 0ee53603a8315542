/**
 * Aborted as soon as one of others is, or by itself. It is released at the end of the attempt, unlike `AbortSignal.any`, which
 * leaves its weak references to the garbage collector: they cost more than the rest of it where attempts are short.
 */
export class AttemptSignal {
  private readonly controller = new AbortController();
  private readonly follow = (event: Event): void => this.abort((event.target as AbortSignal).reason);

  constructor(private readonly others: readonly AbortSignal[]) {
    for (const other of others) {
      if (other.aborted) this.abort(other.reason);
      else other.addEventListener('abort', this.follow, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(reason: unknown): void {
    this.controller.abort(reason);
  }

  /** Follows the others no longer. */
  release(): void {
    for (const other of this.others) other.removeEventListener('abort', this.follow);
  }
}
