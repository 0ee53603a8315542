/** Longest that a call waits for something to happen: clients give up on a request after 60 seconds. */
const MOST_WAIT_SECONDS = 45;

/** The input of an action, with a `wait` that a client outlives. */
export function patient<Input>(input: Input): Input {
  const { wait } = (input ?? {}) as { wait?: unknown };
  return typeof wait === 'number' && wait > MOST_WAIT_SECONDS ? { ...input, wait: MOST_WAIT_SECONDS } : input;
}
