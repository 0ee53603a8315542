import { ModelError } from './model-error.js';
import { onBytes } from './wire/bytes.js';

export interface StreamTimeouts {
  /** From the call to the first byte of the answer's body. */
  firstByteMs: number;
  /** Between two signs of life after that. */
  idleMs: number;
}

/** Why what is still under way is cancelled after the end; made once, as the making of an error takes its time. */
const OVER = new Error('The answer is over, or has no reader any more');

/**
 * Bounds one attempt: it ends when the caller aborts or the server stays silent for too long. `signal` is
 * handed to the provider; its reason is the {@link ModelError} to throw.
 */
export class Lifeline {
  readonly #controller = new AbortController();
  readonly #abort = () => this.#end(new ModelError('aborted', 'The model call was aborted.'));
  #timer: NodeJS.Timeout | undefined;
  #alive = false;
  /** Rejects what is being raced. */
  #rejectRace: ((reason: unknown) => void) | undefined;

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

  /** The promise's outcome, or a rejection at once when the attempt ends first. One at a time, for each part of a stream. */
  race<T>(promise: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#rejectRace = reject;
      promise.then(resolve, reject);
      if (this.signal.aborted) reject(this.signal.reason);
    });
  }

  /** Releases timer and listener and cancels whatever the provider still has under way. */
  close(): void {
    clearTimeout(this.#timer);
    this.caller.removeEventListener('abort', this.#abort);
    this.#controller.abort(OVER);
    this.#rejectRace?.(OVER);
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
    this.#rejectRace?.(reason);
  }
}
