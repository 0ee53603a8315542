import type { IterationRow, LoopEnd, LoopRow } from '../records/index.js';

type Limits = Pick<LoopRow, 'budget' | 'spent_usd' | 'spent_seconds'>;

/** What is left of a budget; undefined where nothing limits it. */
export function leftOf({ budget, spent_usd, spent_seconds }: Limits): { usd?: number; seconds?: number } {
  const { cost_usd, max_seconds } = budget;
  return {
    ...(cost_usd !== undefined && { usd: Math.max(0, cost_usd - (spent_usd ?? 0)) }),
    ...(max_seconds !== undefined && { seconds: Math.max(0, max_seconds - spent_seconds) }),
  };
}

/** Why its budget lets it do nothing more; undefined where it does. */
export function spentUp(loop: Limits): string | undefined {
  const { usd, seconds } = leftOf(loop);
  if (usd === 0) return `Its budget of $${loop.budget.cost_usd} is spent`;
  // A run is given whole seconds.
  if (seconds !== undefined && seconds < 1) return `Its ${loop.budget.max_seconds} seconds are over`;
  return undefined;
}

type Found = Pick<IterationRow, 'number' | 'unmet' | 'files_digest'>;

/** How many of the newest iterations found the same unmet as the one before them, in the same files. */
export function withoutProgress(iterations: readonly Found[], resumedAfter: number): number {
  const counting = iterations.filter(({ number, unmet }) => number > resumedAfter && unmet !== null);
  let count = 0;
  for (let at = counting.length - 1; at > 0; at -= 1) {
    const [before, now] = [counting[at - 1], counting[at]];
    if (!before || !now || !isSame(before, now)) break;
    count += 1;
  }
  return count;
}

const isSame = (a: Found, b: Found): boolean =>
  a.files_digest === b.files_digest && JSON.stringify(a.unmet) === JSON.stringify(b.unmet);

/** How a loop ends that has something unmet; undefined where it goes on. */
export function endOf(loop: LoopRow, iterations: readonly Found[]): LoopEnd | undefined {
  const { iteration, max_iterations, stall_after, resumed_after } = loop;
  const same = withoutProgress(iterations, resumed_after);
  if (same >= stall_after)
    return {
      outcome: 'stalled',
      reason: `${same === 1 ? 'An iteration' : `${same} iterations in a row`} changed no file and met nothing more`,
    };
  if (iteration >= max_iterations)
    return { outcome: 'exhausted', reason: `Something is not met after ${iteration} iterations` };
  const spent = spentUp(loop);
  return spent === undefined ? undefined : { outcome: 'budget', reason: spent };
}
