import type { ChildProcess } from 'node:child_process';

/** Resolves when a child has ended, or could not be started. */
export function exited(child: ChildProcess): Promise<void> {
  return new Promise(resolve => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}
