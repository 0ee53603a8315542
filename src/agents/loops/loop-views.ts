import { iso, isoOrNull } from '../../platform/database/index.js';
import { toView } from '../../platform/dto/index.js';
import { IterationView, type LoopRecordView, type LoopView } from './loops.dto.js';
import type { IterationRow, LoopRow } from './records/index.js';

export function loopView(loop: LoopRow): LoopView {
  const { id, workspace_id, chat_id, state, outcome, reason, prompt, agent_name, model, goal } = loop;
  const { context, interval_seconds, stall_after, on_approval, max_iterations, budget, iteration } = loop;
  const { call_id, spent_usd, spent_seconds, created_by } = loop;
  return {
    id,
    workspace_id,
    chat_id,
    status: statusOf(loop),
    state,
    outcome,
    reason,
    prompt,
    agent_name,
    model,
    until: { check: goal.check, schema: goal.schema, rubric: goal.rubric && rubricView(goal.rubric) },
    context,
    interval_seconds,
    stall_after,
    on_approval,
    max_iterations,
    budget,
    iteration,
    call_id,
    spent_usd,
    spent_seconds,
    created_by,
    next_at: isoOrNull(loop.next_at),
    created_at: iso(loop.created_at),
    finished_at: isoOrNull(loop.finished_at),
  };
}

export const loopRecordView = (loop: LoopRow, iterations: readonly IterationRow[]): LoopRecordView => ({
  ...loopView(loop),
  iterations: iterations.map(iterationView),
});

function iterationView(row: IterationRow): IterationView {
  const { checks, verdict } = row;
  return toView(IterationView, row, {
    checks: [...checks],
    verdict: verdict && { summary: verdict.summary, criteria: [...verdict.criteria] },
  });
}

const rubricView = ({ text, criteria, model }: NonNullable<LoopRow['goal']['rubric']>) => ({
  text,
  model,
  criteria: [...criteria],
});

function statusOf({ state, outcome }: LoopRow): LoopView['status'] {
  if (state !== 'done') return 'pending';
  return outcome === 'error' ? 'error' : 'completed';
}
