import { Injectable } from '@nestjs/common';
import { Budgets } from '../../identity/billing/index.js';
import type { Actor } from '../../platform/access/index.js';
import { newId, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { type VisibleWorkspace, WorkspacesStore } from '../../workspaces/core/index.js';
import { ChatsStore, titleOf } from '../chats/index.js';
import { estimateUsd, ModelCatalog, ModelSettingsStore } from '../models/index.js';
import { SubagentsService } from '../subagents/index.js';
import { GoalReader } from './goal/index.js';
import { LoopAuthority } from './loop-authority.js';
import type { CreateLoop, ResumeLoop } from './loops.dto.js';
import { type LoopBudget, type LoopRow, LoopsStore, LoopWriter, type NewLoop } from './records/index.js';
import { spentUp } from './running/index.js';

/** Most loops of a workspace that have not ended. */
const MAX_OPEN = 20;

/** A loop that was checked, and can be added in a transaction. */
export interface ReadyLoop {
  readonly row: NewLoop;
  readonly code: Buffer | null;
}

export type Resumption = Parameters<LoopWriter['resume']>[2];

/** Checks loops that are to begin or to go on, and adds them. */
@Injectable()
export class LoopStarter {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly loops: LoopsStore,
    private readonly writer: LoopWriter,
    private readonly authority: LoopAuthority,
    private readonly goals: GoalReader,
    private readonly subagents: SubagentsService,
    private readonly models: ModelSettingsStore,
    private readonly catalog: ModelCatalog,
    private readonly budgets: Budgets,
    private readonly chats: ChatsStore,
  ) {}

  async ready(actor: Actor, workspace: VisibleWorkspace, input: CreateLoop): Promise<ReadyLoop> {
    const { prompt, agent_name = null, on_approval = null, context = 'continue' } = input;
    const { interval_seconds = 0, stall_after = 3, max_iterations = 5, budget = {} } = input;
    const { id: workspace_id, organization_id } = workspace;
    const until = this.goals.inputOf(input.until);
    // Its feature may be turned off.
    await this.workspaces.require(unscoped(actor), 'agent.run', workspace_id);
    if (until.check) await this.workspaces.require(actor, 'code.run', workspace_id);
    const standing = await this.authority.of(actor, workspace_id);
    const agent = agent_name === null ? null : await this.subagents.require(actor, workspace_id, agent_name);
    const { model, fallback } = await this.models.resolveAll(organization_id, {
      model: input.model ?? agent?.model ?? null,
      field: input.model || !agent?.model ? 'model' : undefined,
    });
    const { goal, code } = await this.goals.pin(workspace, until, model);
    const asked = [model, ...fallback, ...(goal.rubric ? [goal.rubric.model] : [])];
    this.requireLimits(asked, input, budget);
    const { price = null } = this.catalog.describe(model) ?? {};
    const place = { organizationId: organization_id, workspaceId: workspace_id };
    await this.budgets.requireRoom(place, estimateUsd(price, Buffer.byteLength(prompt)));
    const row: NewLoop = {
      id: newId(),
      organization_id,
      workspace_id,
      chat_id: newId(),
      created_by: standing.actor.id,
      actor: JSON.stringify(standing.actor),
      tools_above: JSON.stringify(standing.tools_above),
      prompt,
      agent_name,
      model,
      fallback_models: fallback,
      on_approval,
      goal: JSON.stringify(goal),
      context,
      interval_seconds,
      stall_after,
      max_iterations,
      budget: JSON.stringify(budget),
    };
    return { row, code };
  }

  /** With its chat, in which each iteration is a run. */
  async add(unit: UnitOfWork, { row, code }: ReadyLoop): Promise<LoopRow> {
    const { organization_id, workspace_id, chat_id, agent_name = null, created_by, prompt } = row;
    await this.requireFewOpen(unit, workspace_id);
    await this.chats.insert(unit, {
      id: chat_id,
      title: titleOf(prompt),
      organization_id,
      workspace_id,
      agent_name,
      model: null,
      created_by,
      task_of: null,
    });
    await this.writer.add(unit, row, code);
    return this.loops.lock(unit, row.id);
  }

  async readyAgain(actor: Actor, loop: LoopRow, input: ResumeLoop): Promise<Resumption> {
    const { workspace_id, organization_id, goal, iteration, model, fallback_models } = loop;
    await this.workspaces.require(unscoped(actor), 'agent.run', workspace_id);
    if (goal.check) await this.workspaces.require(actor, 'code.run', workspace_id);
    if (loop.outcome === 'satisfied')
      throw new Conflict('It is satisfied, so there is nothing to go on with');
    const standing = await this.authority.of(actor, workspace_id);
    await this.models.resolve(organization_id, model, 'the model of the loop');
    const { max_iterations = loop.max_iterations, message = null } = input;
    const budget = { ...loop.budget, ...input.budget };
    if (max_iterations <= iteration)
      throw new Invalid(
        `max_iterations: it has had ${iteration} iterations; give a higher number to let it go on`,
      );
    const spent = spentUp({ ...loop, budget });
    if (spent !== undefined) throw new Invalid(`budget: ${spent}; give a higher one to let it go on`);
    const asked = [model, ...fallback_models, ...(goal.rubric ? [goal.rubric.model] : [])];
    this.requireLimits(asked, { max_iterations }, budget);
    return { ...standing, max_iterations, budget, resumed_with: message };
  }

  /** Of two that come at once, one does. */
  async resume(unit: UnitOfWork, loop: LoopRow, changes: Resumption): Promise<LoopRow> {
    if (!(await this.chats.exists(loop.chat_id, unit)))
      throw new Conflict('Its chat was deleted, so it cannot go on; make a new loop');
    await this.requireFewOpen(unit, loop.workspace_id);
    const resumed = await this.writer.resume(unit, loop.id, changes);
    if (!resumed) throw new Conflict('It has not ended; stop it first, or let it go on');
    return resumed;
  }

  /** Where a price is not known, its iterations and its time are what limits what it costs. */
  private requireLimits(
    models: readonly string[],
    { max_iterations }: { max_iterations?: number },
    { cost_usd, max_seconds }: LoopBudget,
  ): void {
    const unpriced = this.catalog.unpriced(models);
    if (unpriced === undefined) return;
    if (cost_usd !== undefined)
      throw new Invalid(`budget.cost_usd cannot be kept: the price of ${unpriced} is not known here`);
    if (max_iterations === undefined || max_seconds === undefined)
      throw new Invalid(
        `The price of ${unpriced} is not known here, so its cost cannot be limited; give max_iterations and budget.max_seconds`,
      );
  }

  private async requireFewOpen(unit: UnitOfWork, workspaceId: string): Promise<void> {
    if ((await this.loops.countOpen(unit, workspaceId)) >= MAX_OPEN)
      throw new Conflict(`${MAX_OPEN} loops of this workspace have not ended; let one end, or stop it`);
  }
}

/** Whether its key may run agents by itself does not matter: the loop's own scope does. */
const unscoped = (actor: Actor): Actor => ({ ...actor, credential: { ...actor.credential, scopes: null } });
