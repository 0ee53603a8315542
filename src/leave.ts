import { existsSync } from 'node:fs';

const SHELL = '/bin/sh';

/**
 * Ends the process when all it had started has ended. process.exit() may wait for ever: it joins V8's compiler threads,
 * which may wait for a garbage collection that nobody makes any more (https://github.com/nodejs/node/issues/54918). Giving
 * the process to a program that only ends leaves nothing to be joined; the exit code is the same. No `exit` listeners run.
 */
export function leave(code: 0 | 1): void {
  if (process.execve && existsSync(SHELL)) process.execve(SHELL, ['sh', '-c', `exit ${code}`], {});
  process.exit(code);
}
