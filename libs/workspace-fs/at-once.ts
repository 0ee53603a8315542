/** Longer than any answer from the kernel's memory takes, also where other processes want the processor. */
const SLOW_MS = 5;
const PAUSE_MS = 1000;

let asyncUntil = 0;

/**
 * Does something small with a file at once, which costs a tenth of the way through Node's thread pool if the kernel has
 * what it asks for in memory, as it nearly always has. Where it had to wait for a disk, the process goes the long way for
 * a while: waiting disks hold up everybody at most once a second.
 */
export function atOnce<T>(now: () => T, later: () => Promise<T>): T | Promise<T> {
  const start = performance.now();
  if (start < asyncUntil) return later();
  try {
    return now();
  } finally {
    const end = performance.now();
    if (end - start > SLOW_MS) asyncUntil = end + PAUSE_MS;
  }
}
