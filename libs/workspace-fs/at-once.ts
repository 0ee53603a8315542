/** What the kernel may take for one thing that it has in memory. */
const QUICK_MS = 0.05;
/** Waits that are made up for by things that were quick: a process may also wait for the processor now and then. */
const PATIENCE_MS = 8;
/** As much as one wait counts. */
const LONGEST_MS = 5;
const PAUSE_MS = 1000;

let asyncUntil = 0;
let waitedMs = 0;

/**
 * Does something small with files at once, which costs a tenth of the way through Node's thread pool if the kernel has what
 * it asks for in memory, as it nearly always has. Where it has to wait for a disk or a network, the process goes the long
 * way for a while: waiting holds up everybody for some milliseconds in a second. `things` is how many it is done to.
 */
export function atOnce<T>(now: () => T, later: () => Promise<T>, things = 1): T | Promise<T> {
  const start = performance.now();
  if (start < asyncUntil) return later();
  try {
    return now();
  } finally {
    const end = performance.now();
    const unexpected = Math.min(end - start, LONGEST_MS) - QUICK_MS * things;
    waitedMs = Math.max(0, waitedMs + unexpected);
    if (waitedMs > PATIENCE_MS) {
      asyncUntil = end + PAUSE_MS;
      waitedMs = 0;
    }
  }
}
