/** More would only queue for Node's thread pool. */
const AT_ONCE = 8;

/**
 * Runs work on each item, a few at once, and returns when all that was started has ended, also after a failure:
 * nothing is under way any more when the caller closes its descriptors.
 */
export async function forEachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (failed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: Math.min(AT_ONCE, items.length) }, worker);
  for (const outcome of await Promise.allSettled(workers)) {
    if (outcome.status === 'rejected') throw outcome.reason;
  }
}
