import { EmbeddedPostgresError } from './embedded-postgres-error.js';

const diskIsFull = /No space left on device|Disk quota exceeded|ENOSPC|EDQUOT/i;
const accountIsUnknown = /could not look up effective user ID (\d+)/;
const notAllowed = /EACCES|EPERM|EROFS|Permission denied|Read-only file system|Operation not permitted/i;

/** Turns what a PostgreSQL program said into one sentence that says what to do. */
export function explainOutput(doing: string, folder: string, output: string): EmbeddedPostgresError {
  return explain(doing, folder, output, undefined);
}

/** The same for an error of our own file operations; other errors are bugs and come back as they are. */
export function explainError(doing: string, folder: string, error: unknown): unknown {
  if (error instanceof EmbeddedPostgresError || !(error instanceof Error)) return error;
  return 'syscall' in error ? explain(doing, folder, error.message, error) : error;
}

function explain(doing: string, folder: string, said: string, cause: unknown): EmbeddedPostgresError {
  if (diskIsFull.test(said)) {
    return new EmbeddedPostgresError(
      `The disk that holds ${folder} is full, so PostgreSQL could not ${doing}: free some space (about 200 MB) and start again.`,
      { cause },
    );
  }
  const [, uid] = accountIsUnknown.exec(said) ?? [];
  if (uid !== undefined) {
    return new EmbeddedPostgresError(
      `PostgreSQL cannot run under uid ${uid} because /etc/passwd does not list it: add an entry for it, or set DATABASE_URL to a PostgreSQL server of your own.`,
      { cause },
    );
  }
  if (notAllowed.test(said)) {
    return new EmbeddedPostgresError(
      `PostgreSQL could not ${doing} because this account may not use ${folder}: make it writable for the account that starts this program, or choose another data folder (${lastLine(said)}).`,
      { cause },
    );
  }
  return new EmbeddedPostgresError(
    `PostgreSQL could not ${doing} in ${folder}: ${lastLine(said) || 'it ended without a word'}`,
    { cause },
  );
}

/** PostgreSQL puts the reason in a FATAL, PANIC or error line; else the last line is the best there is. */
function lastLine(output: string): string {
  const lines = output.split('\n').filter(line => line.trim() !== '');
  return (lines.findLast(line => /FATAL|PANIC|error:/.test(line)) ?? lines.at(-1) ?? '').trim();
}
