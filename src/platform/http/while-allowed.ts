import type { ServerEvent } from './sse.js';

/** How old the last answer may be to the question whether a watcher still may. */
const PRECISION_MS = 10_000;

/**
 * Passes events on for as long as `may` says so: a stream outlives the credential and the role that it was opened with.
 * An empty batch passes nothing on and asks at once.
 */
export async function* whileAllowed(
  batches: AsyncIterable<ServerEvent[]>,
  may: () => Promise<boolean>,
): AsyncGenerator<ServerEvent[]> {
  let asked = Date.now();
  for await (const batch of batches) {
    if (batch.length === 0 || Date.now() - asked > PRECISION_MS) {
      if (!(await may())) return;
      asked = Date.now();
    }
    if (batch.length > 0) yield batch;
  }
}
