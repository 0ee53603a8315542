import { heldBytes, processTree } from './process-tree.js';

/** Short against the time it takes to fill a limit of some hundred megabytes, long against one look. */
const INTERVAL_MS = 100;

/**
 * Watches the memory of a process and its descendants, for hosts without control groups. The kernel notifies
 * no one when a process grows, so this looks ten times a second; between two looks a command may exceed its
 * limit by what it can write in that time.
 *
 * @param onExceeded called once
 * @returns ends the watch
 */
export function watchMemory(root: number, limitBytes: number, onExceeded: () => void): () => void {
  const timer = setInterval(() => {
    const held = processTree(root).reduce((sum, pid) => sum + heldBytes(pid), 0);
    if (held <= limitBytes) return;
    clearInterval(timer);
    onExceeded();
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
