import { Readable } from 'node:stream';
import { WorkspaceFsError } from './errors.js';

export function throwIfAborted(signal: AbortSignal | undefined, path: string): void {
  if (signal?.aborted) throw abortedError(signal, path);
}

function abortedError(signal: AbortSignal, path: string): WorkspaceFsError {
  return new WorkspaceFsError('aborted', path, undefined, { cause: signal.reason });
}

/**
 * The source's values until the signal fires, which ends the wait for the next one with the error `aborted`.
 * The source is stopped: a stream is destroyed, an iterator returned.
 */
export async function* untilAborted<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal | undefined,
  path: string,
): AsyncGenerator<T> {
  if (!signal) {
    yield* source;
    return;
  }
  const iterator = source[Symbol.asyncIterator]();
  const abortion = new Abortion(signal, path);
  let ended = false;
  try {
    for (;;) {
      const next = await abortion.orValueOf(iterator.next());
      if (next.done) {
        ended = true;
        return;
      }
      yield next.value;
    }
  } catch (error) {
    ended = !signal.aborted;
    throw error;
  } finally {
    abortion.forget();
    if (!ended) stop(source, iterator);
  }
}

/**
 * The signal as an end to one wait at a time. (A promise of its own to race against would keep every value that it was
 * ever raced with.)
 */
class Abortion {
  private endWait: (error: Error) => void = () => undefined;
  private readonly listener = () => this.endWait(abortedError(this.signal, this.path));

  constructor(
    private readonly signal: AbortSignal,
    private readonly path: string,
  ) {
    signal.addEventListener('abort', this.listener, { once: true });
  }

  /** What the promise gives, unless the signal fires first. */
  orValueOf<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.endWait = reject;
      if (this.signal.aborted) this.listener();
      promise.then(resolve, reject);
    });
  }

  forget(): void {
    this.signal.removeEventListener('abort', this.listener);
  }
}

/** Does not wait: a generator that is stuck in an await never answers. */
function stop<T>(source: AsyncIterable<T>, iterator: AsyncIterator<T>): void {
  if (source instanceof Readable) source.destroy();
  // Its failure would be that of a source that has no reader any more.
  else iterator.return?.().then(undefined, () => undefined);
}
