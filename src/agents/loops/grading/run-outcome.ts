import { schemaFailed } from '../../models/index.js';
import type { RunRow } from '../../runs/index.js';
import type { LoopEnd, LoopRow } from '../records/index.js';

const NO_JSON = schemaFailed([]).type;

/** How a loop ends by the end of its run alone; undefined where what the run left is to be graded. */
export function outcomeOf(
  { blocked_reason }: Pick<LoopRow, 'blocked_reason'>,
  run: Pick<RunRow, 'status' | 'stop_reason' | 'error'> | undefined,
): LoopEnd | undefined {
  if (!run) return { outcome: 'stopped', reason: 'Its run was deleted with its chat' };
  const { status, stop_reason, error } = run;
  if (blocked_reason !== null) return { outcome: 'blocked', reason: blocked_reason };
  // What it said is there, and found to be what the schema does not ask for.
  if (status === 'error' && error?.type === NO_JSON) return undefined;
  if (status === 'error') {
    const reason = error?.message ?? 'Its run failed';
    return { outcome: error?.type === 'budget_reached' ? 'budget' : 'error', reason };
  }
  return ENDS[stop_reason ?? ''];
}

const ENDS: Record<string, LoopEnd> = {
  stopped: { outcome: 'stopped', reason: 'Its run was stopped' },
  withdrawn: { outcome: 'stopped', reason: 'The message of its run was withdrawn' },
  max_cost: { outcome: 'budget', reason: 'Its run has spent what was left of the budget' },
  max_seconds: { outcome: 'budget', reason: 'Its run has used up the time that was left' },
};
