/** What the kernel may take for one thing that it has in memory. */
const QUICK_MS = 0.05;
/** Waits that are made up for by things that were quick: a process may also wait for the processor now and then. */
const PATIENCE_MS = 8;
/** As much as one wait counts. */
const LONGEST_MS = 5;
const PAUSE_MS = 1000;

/** So long one turn of the event loop may go from one thing to the next before it is the turn of others. */
const TURN_MS = 10;

let asyncUntil = 0;
let waitedMs = 0;
/** When the first thing of this turn began; undefined before it has. */
let turnBegan: number | undefined;

function endTurn(): void {
  turnBegan = undefined;
}

/**
 * Does something small with files at once, which costs a tenth of the way through Node's thread pool if the kernel has what
 * it asks for in memory, as it nearly always has. Where it has to wait for a disk or a network, the process goes the long
 * way for a while: waiting holds up everybody for some milliseconds in a second. What follows in the same turn of the event
 * loop for long goes that way too: promises alone never let timers, requests and other sockets have theirs. `things` is how
 * many it is done to.
 */
export function atOnce<T>(now: () => T, later: () => Promise<T>, things = 1): T | Promise<T> {
  const start = performance.now();
  if (turnBegan === undefined) {
    turnBegan = start;
    setImmediate(endTurn);
  }
  if (start < asyncUntil || start - turnBegan > TURN_MS) return later();
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
