import { createContext, Script } from 'node:vm';

const script = new Script('work()');
/** To make one takes longer than most work. */
const context: { work: () => void } = { work: () => undefined };
createContext(context);

/** The result of `work`, which is cut off after `ms`, wherever it is; undefined when it was. */
export function withinTime<T>(ms: number, work: () => T): T | undefined {
  let result: T | undefined;
  const before = context.work;
  context.work = () => {
    result = work();
  };
  try {
    script.runInContext(context, { timeout: ms });
    return result;
  } catch (error) {
    if (isTimeout(error) || error instanceof RangeError) return undefined;
    throw error;
  } finally {
    context.work = before;
  }
}

function isTimeout(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
