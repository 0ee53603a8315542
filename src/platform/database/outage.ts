/** SQLSTATE classes (PostgreSQL, appendix A) of faults that are not the statement's: connection, resources, operator, system. */
const CLASSES = ['08', '53', '57', '58'];
/** A serialization failure, a deadlock, a time-out: the same transaction may succeed when it is tried again. */
const STATES = ['40001', '40P01', '25006', '25P03', '25P04', '55P03'];
/** Node's own codes of a connection that cannot be had or was lost. */
const SYSTEM = /^(ECONN|EPIPE$|ETIMEDOUT$|EAI_AGAIN$|ENOTFOUND$|EHOSTUNREACH$|ENETUNREACH$)/;
/** What the driver says without a code. */
const LOST =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|timeout expired$|Query read timeout$|Client was closed)/;

/** Whether a statement failed because the database could not be reached or was busy ending, so that it may succeed later. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message, cause, syscall } = error as Error & { code?: unknown; syscall?: unknown };
  // Whatever kept a connection from being had: of a server on a Unix socket that is away, the socket's file is missing.
  if (syscall === 'connect') return true;
  if (typeof code === 'string' && code.length === 5 && CLASSES.includes(code.slice(0, 2))) return true;
  if (typeof code === 'string' && (STATES.includes(code) || SYSTEM.test(code))) return true;
  if (LOST.test(message)) return true;
  return error instanceof AggregateError
    ? error.errors.some(isOutage)
    : cause !== undefined && isOutage(cause);
}

/** Whether the database could not write because its disk is full. */
export function isDatabaseFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, cause } = error as Error & { code?: unknown };
  return code === '53100' || (cause !== undefined && isDatabaseFull(cause));
}

/**
 * Whether a row could not be added because the one that it belongs to is gone: looked up before, and deleted by another
 * transaction until the commit, which is when foreign keys are checked.
 */
export function isOrphan(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message, cause } = error as Error & { code?: unknown };
  // A row that others keep from being deleted has the same code and other words.
  if (code === '23503') return message.includes('insert or update on table');
  return cause !== undefined && isOrphan(cause);
}

/** Whether a transaction was undone so that others could go on which waited for it, as it did for them. */
export function isDeadlock(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, cause } = error as Error & { code?: unknown };
  return code === '40P01' || (cause !== undefined && isDeadlock(cause));
}
