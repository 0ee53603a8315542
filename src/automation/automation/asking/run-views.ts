import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import { type Database, iso, isoOrNull } from '../../../platform/database/index.js';
import { toView } from '../../../platform/dto/index.js';
import { type AutomationRunRow, AutomationRunsStore } from '../records/automation-runs.store.js';
import { AutomationRunView } from '../views/automations.dto.js';

/** Runs as they are shown. */
@Injectable()
export class RunViews {
  constructor(private readonly runs: AutomationRunsStore) {}

  async one(run: AutomationRunRow, within?: Pick<Database, 'tables'>): Promise<AutomationRunView> {
    const [view] = await this.all([run], within);
    return view as AutomationRunView;
  }

  /** The newest runs of a deployment. */
  async latest(actor: Actor, deploymentId: string, limit: number): Promise<AutomationRunView[]> {
    const { items } = await this.runs.list(actor, { deployment_id: deploymentId, limit });
    return this.all(items);
  }

  async all(
    runs: readonly AutomationRunRow[],
    within?: Pick<Database, 'tables'>,
  ): Promise<AutomationRunView[]> {
    const open = runs.filter(({ state }) => state === 'running');
    const asked = await this.runs.approvalsOf(
      open.map(({ id }) => id),
      within,
    );
    return runs.map(run => runView(run, asked.get(run.id) ?? null));
  }
}

function runView(run: AutomationRunRow, approval_id: string | null): AutomationRunView {
  const { id, state } = run;
  const { stop_reason, error, call_id, chat_id, output, log, exit_code, cost_usd } = run;
  return toView(AutomationRunView, run, {
    run_id: id,
    state: approval_id ? 'waiting' : state,
    approval_id,
    stop_reason,
    error,
    call_id,
    chat_id,
    output,
    log,
    exit_code,
    cost_usd,
    tries: run.tries.map(one => ({
      ...one,
      started_at: isoOrNull(one.started_at),
      finished_at: iso(one.finished_at),
    })),
    next_try_at: run.state === 'queued' && run.tries.length > 0 ? isoOrNull(run.not_before) : null,
  });
}
