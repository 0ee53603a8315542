/** The input of an action, with a `wait` of no more than `seconds`: clients give up on a call that takes long. */
export function withWaitLimit<Input>(input: Input, seconds: number): Input {
  const { wait } = (input ?? {}) as { wait?: unknown };
  return typeof wait === 'number' && wait > seconds ? { ...input, wait: seconds } : input;
}
