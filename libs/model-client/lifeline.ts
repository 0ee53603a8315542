import { onBytes } from './answer-bytes.js';
import { ModelError } from './model-error.js';

export interface StreamTimeouts {
  /** From the call to the first byte of the answer's body. */
  firstByteMs: number;
  /** Between two signs of life after that. */
  idleMs: number;
}

/** Why what is still under way is cancelled after the end; made once, as the making of an error takes its time. */
const OVER = new Error('The answer is over, or has no reader any more');

/**
 * Bounds one attempt: it ends when the caller aborts or the server stays silent for too long. Its reason, which `signal` has
 * too, is the {@link ModelError} to throw.
 */
export class Lifeline {
  readonly #listeners = new Set<(reason: unknown) => void>();
  readonly #abort = () => this.#end(new ModelError('aborted', 'The model call was aborted.'));
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isAlive = false;
  #reason: Error | undefined;

  constructor(
    private readonly caller: AbortSignal,
    private readonly timeouts: StreamTimeouts,
    /** As people know the model. */
    private readonly label: () => string,
  ) {
    caller.addEventListener('abort', this.#abort, { once: true });
    if (caller.aborted) this.#abort();
    else this.#arm(timeouts.firstByteMs);
  }

  get reason(): Error | undefined {
    return this.#reason;
  }

  /** For the providers that take one. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      onBytes(this.#controller.signal, () => this.beat());
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** A sign of life from the server. */
  beat(): void {
    if (this.#reason) return;
    if (this.#isAlive || this.timeouts.idleMs === this.timeouts.firstByteMs) this.#timer?.refresh();
    else this.#arm(this.timeouts.idleMs);
    this.#isAlive = true;
  }

  onCancel(listener: (reason: unknown) => void): void {
    this.#listeners.add(listener);
  }

  offCancel(listener: (reason: unknown) => void): void {
    this.#listeners.delete(listener);
  }

  /** The promise's outcome, or a rejection at once when the attempt ends first. */
  race<T>(promise: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const settled = <V>(settle: (value: V) => void) => {
        return (value: V) => {
          this.offCancel(reject);
          settle(value);
        };
      };
      this.onCancel(reject);
      promise.then(settled(resolve), settled(reject));
      if (this.#reason) reject(this.#reason);
    });
  }

  /** Releases timer and listener and cancels whatever the provider still has under way. */
  close(): void {
    this.caller.removeEventListener('abort', this.#abort);
    this.#end(OVER);
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const what = this.#isAlive ? 'stopped in the middle of its answer' : 'did not begin to answer';
      this.#end(new ModelError('timeout', `${this.label()} ${what}: nothing came for ${ms / 1000} seconds.`));
    }, ms);
  }

  #end(reason: Error): void {
    clearTimeout(this.#timer);
    if (this.#reason) return;
    this.#reason = reason;
    for (const listener of this.#listeners) listener(reason);
    this.#listeners.clear();
    this.#controller?.abort(reason);
  }
}
