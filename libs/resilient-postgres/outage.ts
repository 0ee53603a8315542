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
  return error instanceof AggregateError ? error.errors.some(isOutage) : isOutage(cause);
}

/** Whether an error, or what caused it, has this SQLSTATE and suits. */
function hasState(error: unknown, state: string, suits = (_message: string) => true): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message, cause } = error as Error & { code?: unknown };
  return code === state ? suits(message) : hasState(cause, state, suits);
}

/** Whether the database could not write because its disk is full. */
export const isDatabaseFull = (error: unknown): boolean => hasState(error, '53100');

/**
 * Whether a row could not be added because the one that it belongs to is gone: looked up before, and deleted by another
 * transaction until the commit, which is when foreign keys are checked.
 */
export const isOrphan = (error: unknown): boolean =>
  // A row that others keep from being deleted has the same code and other words.
  hasState(error, '23503', message => message.includes('insert or update on table'));

/** Whether a transaction was undone to end a deadlock. */
export const isDeadlock = (error: unknown): boolean => hasState(error, '40P01');
