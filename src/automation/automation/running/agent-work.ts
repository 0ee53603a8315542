import { Injectable } from '@nestjs/common';
import { UnattendedRuns } from '../../../agents/messages/index.js';
import { RunStopper } from '../../../agents/runs/index.js';
import { ToolNames } from '../../../agents/subagents/index.js';
import { BudgetReached } from '../../../identity/billing/index.js';
import { Database } from '../../../platform/database/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { AuthorityLost, StandingAuthority } from '../../../workspaces/core/index.js';
import {
  type AutomationRunRow,
  AutomationRunsStore,
  DeploymentsStore,
  type RunTry,
} from '../records/index.js';
import { Expectations } from './expectations.js';
import { RunEnds } from './run-ends.js';
import { type RunMeans, RunMeansReader } from './run-means.js';
import { toolListsOf } from './tool-lists.js';

const AT_ONCE = 20;
const TEXT_LIMIT = 64 * 1024;

/** The runs of automations that are the work of an agent: each is a run of a chat, like any other. */
@Injectable()
export class AgentWork {
  constructor(
    private readonly database: Database,
    private readonly runs: AutomationRunsStore,
    private readonly deployments: DeploymentsStore,
    private readonly authority: StandingAuthority,
    private readonly agents: UnattendedRuns,
    private readonly stopper: RunStopper,
    private readonly expectations: Expectations,
    private readonly ends: RunEnds,
    private readonly means: RunMeansReader,
    private readonly toolNames: ToolNames,
  ) {}

  /** Starts one that this process has taken. */
  async start(run: AutomationRunRow): Promise<void> {
    const means = await this.means.of(run);
    if (!means) return this.fail(run, 'script_failed', 'Its version is not kept any more');
    try {
      await this.authority.require(run.actor, run.workspace_id, 'agent.run');
      await this.startWith(run, means);
    } catch (error) {
      if (error instanceof AuthorityLost) return this.fail(run, 'authority_lost', error.message);
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
      return this.fail(run, error instanceof BudgetReached ? 'budget_stopped' : 'invalid', problem.detail);
    }
  }

  private async startWith(run: AutomationRunRow, means: RunMeans): Promise<void> {
    const { definition, agent } = means.pinned;
    const { limits, expect, onApproval } = definition;
    if (!agent) return this.fail(run, 'invalid', 'It has no agent');
    const ready = await this.agents.ready({
      actor: run.actor,
      organizationId: run.organization_id,
      workspaceId: run.workspace_id,
      title: definition.name,
      agentName: null,
      text: await this.means.messageOf(run, means),
      model: agent.model,
      onApproval,
      budget: {
        max_seconds: limits.maxSeconds,
        ...(limits.costUsd !== null && { cost_usd: limits.costUsd }),
        ...(limits.maxSteps !== null && { max_steps: limits.maxSteps }),
      },
      responseSchema: expect.responseSchema,
      unattended: {
        of: {
          automationRunId: run.id,
          deploymentId: run.deployment_id,
          approvalSeconds: definition.approvalDeadlineSeconds,
        },
        pinned: agent,
        toolsAbove: toolListsOf(means, this.toolNames.all()),
      },
    });
    await this.database
      .transaction(async unit => {
        const deployment = run.deployment_id && (await this.deployments.find(run.deployment_id, unit));
        const goesOn = definition.chat === 'continue' && deployment;
        const started = await this.agents.add(unit, ready, goesOn ? goesOn.chat_id : null);
        if (goesOn && goesOn.chat_id !== started.chat_id)
          await this.deployments.change(unit, goesOn.id, { chat_id: started.chat_id });
        if (!(await this.runs.begin(unit, run.id, started))) throw new Cancelled();
      })
      .catch(error => {
        if (!(error instanceof Cancelled)) throw error;
        return this.ends.endNow(run, { status: 'completed', stop_reason: 'stopped', error: null });
      });
  }

  private fail(run: RunTry, stop_reason: string, error: string): Promise<void> {
    return this.ends.endNow(run, { status: 'error', stop_reason, error });
  }

  /** Stops agents that are to end, and writes down the ends of those that have; how many. */
  async settle(): Promise<number> {
    const cancelled = await this.runs.cancelledAgents(AT_ONCE);
    for (const { chat_id, call_id } of cancelled) await this.stopper.stop(chat_id, [call_id]);
    const ended = await this.runs.ended(AT_ONCE);
    for (const { run, ...one } of ended) {
      if (!run) {
        await this.fail(one, 'stopped', 'Its chat was deleted');
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

class Cancelled extends Error {}
