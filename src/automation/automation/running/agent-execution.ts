import { Injectable } from '@nestjs/common';
import { UnattendedRuns } from '../../../agents/messages/index.js';
import { BudgetReached } from '../../../identity/billing/index.js';
import { Database } from '../../../platform/database/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { AuthorityLost, StandingAuthority } from '../../../workspaces/core/index.js';
import { type AutomationRunRow, AutomationRunsStore, type RunTry } from '../records/automation-runs.store.js';
import { DeploymentsStore } from '../records/deployments.store.js';
import type { RunContext } from './run-context.js';
import { RunContextReader } from './run-context-reader.js';
import { RunEnds } from './run-ends.js';

/** Starts runs of automations that are the work of an agent: each is a run of a chat, like any other. */
@Injectable()
export class AgentExecution {
  constructor(
    private readonly database: Database,
    private readonly runs: AutomationRunsStore,
    private readonly deployments: DeploymentsStore,
    private readonly authority: StandingAuthority,
    private readonly agents: UnattendedRuns,
    private readonly ends: RunEnds,
    private readonly contexts: RunContextReader,
  ) {}

  /** Starts one that this process has taken. */
  async start(run: AutomationRunRow): Promise<void> {
    const context = await this.contexts.find(run);
    if (!context) return this.fail(run, 'script_failed', 'Its version is not kept any more');
    try {
      await this.authority.require(run.actor, run.workspace_id, 'agent.run');
      await this.startWith(run, context);
    } catch (error) {
      if (error instanceof AuthorityLost) return this.fail(run, 'authority_lost', error.message);
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
      return this.fail(run, error instanceof BudgetReached ? 'budget_stopped' : 'invalid', problem.detail);
    }
  }

  private async startWith(run: AutomationRunRow, context: RunContext): Promise<void> {
    const { definition, agent } = context.pinned;
    const { limits, expect, onApproval } = definition;
    if (!agent) return this.fail(run, 'invalid', 'It has no agent');
    const ready = await this.agents.ready({
      actor: run.actor,
      organizationId: run.organization_id,
      workspaceId: run.workspace_id,
      title: definition.name,
      agentName: null,
      text: await this.contexts.renderMessage(run, context),
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
        toolsAbove: this.contexts.listTools(context),
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
}

class Cancelled extends Error {}
