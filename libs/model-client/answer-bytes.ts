/** Who listens to the bytes of the request that carries this signal. */
const listeners = new WeakMap<AbortSignal, () => void>();

/**
 * Calls `heard` for every chunk of body that answers a request sent with this signal. What reads the answer
 * swallows keep-alive comments and pings, which are the only sign of life while a model thinks for minutes.
 */
export function onBytes(signal: AbortSignal, heard: () => void): void {
  listeners.set(signal, heard);
}

/** Who wants to know of the bytes that answer a request with this signal. */
export function listenerOf(signal: AbortSignal | null | undefined): (() => void) | undefined {
  return signal ? listeners.get(signal) : undefined;
}
