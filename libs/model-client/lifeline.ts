import { ModelError } from './model-error.js';
import { onBytes } from './provider-fetch.js';

export interface StreamTimeouts {
  /** From the call to the first byte of the answer's body. */
  firstByteMs: number;
  /** Between two signs of life after that. */
  idleMs: number;
}

/**
 * Bounds one attempt: it ends when the caller aborts or the server stays silent for too long. `signal` is
 * handed to the provider; its reason is the {@link ModelError} to throw.
 */
export class Lifeline {
  readonly #controller = new AbortController();
  readonly #abort = () => this.#end(new ModelError('aborted', 'The model call was aborted.'));
  #timer: NodeJS.Timeout | undefined;
  #alive = false;

  constructor(
    private readonly caller: AbortSignal,
    private readonly timeouts: StreamTimeouts,
    private readonly model: string,
  ) {
    onBytes(this.signal, () => this.beat());
    caller.addEventListener('abort', this.#abort, { once: true });
    if (caller.aborted) this.#abort();
    else this.#arm(timeouts.firstByteMs, 'did not begin to answer');
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** A sign of life from the server. */
  beat(): void {
    if (this.#alive) this.#timer?.refresh();
    else if (!this.signal.aborted) this.#arm(this.timeouts.idleMs, 'stopped in the middle of its answer');
    this.#alive = true;
  }

  /** The promise's outcome, or a rejection at once when the attempt ends first. */
  async race<T>(promise: PromiseLike<T>): Promise<T> {
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const onEnd = () => reject(this.signal.reason);
    if (this.signal.aborted) onEnd();
    this.signal.addEventListener('abort', onEnd, { once: true });
    try {
      return await Promise.race([promise, ended]);
    } finally {
      this.signal.removeEventListener('abort', onEnd);
    }
  }

  /** Releases timer and listener and cancels whatever the provider still has under way. */
  close(): void {
    clearTimeout(this.#timer);
    this.caller.removeEventListener('abort', this.#abort);
    this.#controller.abort();
  }

  #arm(ms: number, what: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#end(new ModelError('timeout', `${this.model} ${what}: nothing came for ${ms / 1000} seconds.`));
    }, ms);
  }

  #end(reason: ModelError): void {
    clearTimeout(this.#timer);
    this.#controller.abort(reason);
  }
}
