import { SandboxFailure, SandboxRefusal } from './errors.js';

/** What it means that no process could be made. */
export function explainSpawn(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'E2BIG') {
    return new SandboxRefusal(
      'The command line is too long (128 KiB at most per argument): use standard input',
    );
  }
  return code ? new SandboxFailure(`The command could not be started (${code})`, { cause: error }) : error;
}
