import { type Chain, joinChains, NO_CHAIN } from '../../../platform/access/index.js';
import { type FileTrigger, loopReason } from '../../automation/index.js';

/** Changes that a delivery lists; of others it has the number alone. */
const MAX_LISTED = 100;
/** Changes that keep coming put a delivery off for no longer than that. */
const MAX_WINDOW_MS = 5 * 60_000;

/** Changes that become one delivery. */
interface Gathered {
  /** The numbers of the first of them. */
  readonly ids: readonly number[];
  readonly total: number;
  /** The number of the last. */
  readonly last: number;
  /** What led to any of them. */
  readonly chain: Chain;
}

/** What a file trigger gathers until no more comes for a while, as it is stored. */
export interface Window {
  readonly since: string;
  readonly fire_at: string;
  /** What starts a run. */
  readonly changes?: Gathered;
  /** What the deployment led to itself, and what too many led to: skipped, and shown. */
  readonly own_change?: Gathered;
  readonly depth?: Gathered;
  /** Changes up to this number are not in the log any more. */
  readonly reset?: number;
}

/** A change, as far as windows go by it. */
export interface MatchedChange {
  readonly id: number;
  /** When it happened, in milliseconds. */
  readonly at: number;
  readonly chain: Chain;
}

/** The window with further changes, which are in the order of their numbers. */
export function widened(
  window: Window | null,
  { settleSeconds }: Pick<FileTrigger, 'settleSeconds'>,
  deploymentId: string,
  changes: readonly MatchedChange[],
): Window {
  const parts = Map.groupBy(
    changes,
    ({ chain }) => loopReason(deploymentId, chain.deployments, chain.depth) ?? 'changes',
  );
  let next = movedBy(window, settleSeconds, Math.min(...changes.map(({ at }) => at)));
  next = movedBy(next, settleSeconds, Math.max(...changes.map(({ at }) => at)));
  for (const [part, those] of parts) next = { ...next, [part]: added(next[part], those) };
  return next;
}

/** The window, which fires later for something that happened at this time, but for a reset. */
export function movedBy(window: Window | null, settleSeconds: number, at: number): Window {
  const since = window ? Date.parse(window.since) : at;
  const before = window ? Date.parse(window.fire_at) : 0;
  const fireAt =
    window?.reset === undefined
      ? Math.min(Math.max(before, at + settleSeconds * 1000), since + MAX_WINDOW_MS)
      : before;
  return { ...window, since: new Date(since).toISOString(), fire_at: new Date(fireAt).toISOString() };
}

function added(gathered: Gathered | undefined, changes: readonly MatchedChange[]): Gathered {
  const { ids = [], total = 0, chain = NO_CHAIN } = gathered ?? {};
  return {
    ids: [...ids, ...changes.slice(0, MAX_LISTED - ids.length).map(({ id }) => id)],
    total: total + changes.length,
    last: changes.at(-1)?.id ?? 0,
    chain: joinChains([chain, ...new Set(changes.map(change => change.chain))]),
  };
}
