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
  readonly #abort = () => this.#end(new ModelError('aborted', 'The model call was aborted.'));
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isAlive = false;
  #reason: Error | undefined;

  constructor(
    private readonly caller: AbortSignal,
    private readonly timeouts: StreamTimeouts,
    /** As people know the model. */
    private readonly label: () => string,
  ) {
    onBytes(this.signal, () => this.beat());
    caller.addEventListener('abort', this.#abort, { once: true });
    if (caller.aborted) this.#abort();
    else this.#arm(timeouts.firstByteMs);
  }

  get reason(): Error | undefined {
    return this.#reason;
  }

  /** For the providers that take one. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** A sign of life from the server. */
  beat(): void {
    if (this.#reason) return;
    if (this.#isAlive || this.timeouts.idleMs === this.timeouts.firstByteMs) this.#timer?.refresh();
    else this.#arm(this.timeouts.idleMs);
    this.#isAlive = true;
  }

  /** The promise's outcome, or a rejection at once when the attempt ends first. */
  race<T>(promise: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = () => reject(this.#reason);
      this.signal.addEventListener('abort', cancel, { once: true });
      void Promise.resolve(promise)
        .then(resolve, reject)
        .finally(() => this.signal.removeEventListener('abort', cancel));
      if (this.#reason) cancel();
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
    this.#controller.abort(reason);
  }
}
