import { Injectable, OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { RunStopper, UNATTENDED_ENDS } from '../../../agents/runs/index.js';
import { Config } from '../../../platform/config/index.js';
import { type DueTimer, DueTimers } from '../../../platform/schedule/index.js';
import { AutomationRunsStore } from '../records/automation-runs.store.js';
import { ExpectationValidator } from './expectation-validator.js';
import { RunEnds } from './run-ends.js';

const AT_ONCE = 20;
const TEXT_LIMIT = 64 * 1024;

/** Follows the agents that run for automations to their ends. */
@Injectable()
export class AgentRunSupervisor implements OnApplicationBootstrap, OnModuleDestroy {
  private timer: DueTimer | undefined;

  constructor(
    private readonly config: Config,
    private readonly runs: AutomationRunsStore,
    private readonly stopper: RunStopper,
    private readonly expectations: ExpectationValidator,
    private readonly ends: RunEnds,
    private readonly timers: DueTimers,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timer = this.timers.start({
      topic: UNATTENDED_ENDS,
      take: () => this.settle(),
      failure: 'writing down the ends of automations failed; trying again',
    });
  }

  async onModuleDestroy(): Promise<void> {
    await this.timer?.close();
  }

  /** Stops agents that are to end, and writes down the ends of those that have; how many. */
  private async settle(): Promise<number> {
    const cancelled = await this.runs.cancelledAgents(AT_ONCE);
    for (const { chat_id, call_id } of cancelled) await this.stopper.stop(chat_id, [call_id]);
    const ended = await this.runs.ended(AT_ONCE);
    for (const { run, ...one } of ended) {
      if (!run) {
        await this.ends.endNow(one, {
          status: 'error',
          stop_reason: 'stopped',
          error: 'Its chat was deleted',
        });
        continue;
      }
      const { status, stop_reason, error, response, response_json, cost_usd } = run;
      const output = {
        response: (response ?? '').slice(0, TEXT_LIMIT).toWellFormed(),
        ...(response_json && { json: response_json.value }),
      };
      const isError = status === 'error';
      const unmet = isError || stop_reason === 'stopped' ? null : await this.expectations.unmetBy(one.id);
      await this.ends.endNow(one, {
        status: isError || unmet !== null || LIMITS.has(stop_reason ?? '') ? 'error' : 'completed',
        stop_reason: unmet === null ? reasonOf(error?.type ?? stop_reason) : 'expectation_failed',
        error:
          unmet ??
          error?.message ??
          (LIMITS.has(stop_reason ?? '') ? `It has reached its limit: ${stop_reason}` : null),
        output,
        cost_usd: cost_usd === null ? null : Number(cost_usd),
      });
    }
    return cancelled.length + ended.length;
  }
}

/** What runs of agents end with, in the words of automations; `end_turn` is what they should. */
const REASONS: Record<string, string | null> = {
  end_turn: null,
  approval_required: 'approval_denied',
  budget_reached: 'budget_stopped',
  response_schema_failed: 'expectation_failed',
};

const reasonOf = (reason: string | null): string | null =>
  reason === null ? null : reason in REASONS ? (REASONS[reason] ?? null) : reason;

/** Reasons for which an agent ends before it is done. */
const LIMITS = new Set(['max_steps', 'max_cost', 'max_seconds']);
