import { Inject, Injectable } from '@nestjs/common';
import { costUsd, type StepRequest, type StepResult, streamStep } from '#libs/model-client/index.js';
import { Budgets, type PlannedSpend } from '../../identity/index.js';
import { Config } from '../../platform/config/config.js';
import type { Row } from '../../platform/database/rows.js';
import { Unavailable } from '../../platform/http/problem.js';
import type { MessageRow } from '../chats/messages.store.js';
import { estimateUsd } from '../models/estimate.js';
import { ModelCatalog } from '../models/model-catalog.js';
import { ModelsService } from '../models/models.service.js';
import { buildPrompt, systemPrompt } from './prompt.js';
import type { Run } from './run.entity.js';
import type { RunTools } from './tool-gateway.js';

interface StepCall extends Pick<StepRequest, 'signal' | 'onDelta' | 'onRestart'> {
  run: Row<Run>;
  step: number;
  rows: MessageRow[];
  tools: RunTools;
}

/** Calls the model of a run once. */
@Injectable()
export class StepCaller {
  constructor(
    @Inject(ModelsService) private readonly models: ModelsService,
    @Inject(ModelCatalog) private readonly catalog: ModelCatalog,
    @Inject(Budgets) private readonly budgets: Budgets,
    @Inject(Config) private readonly config: Config,
  ) {}

  /** Throws ModelUnusable where the organization may no longer use the run's model. */
  async check({ organization_id, model }: Row<Run>): Promise<void> {
    await this.models.resolve(organization_id, model);
  }

  /** Throws BudgetReached, before the model is called, where a budget has no room for what that may cost. */
  async call(call: StepCall): Promise<{ result: StepResult; costUsd: number | null }> {
    const { run, step, rows, tools, ...hooks } = call;
    const found = this.catalog.find(run.model);
    if (!found) throw new Unavailable(`The model ${run.model} is no longer configured`);
    const silence = this.config.modelTimeoutSeconds * 1000;
    const request = {
      prompt: buildPrompt(systemPrompt(tools.agent, run.workspace_id !== null), rows, run.id),
      tools: [...tools.offered],
    };
    const estimate = estimateUsd(found.price, Buffer.byteLength(JSON.stringify(request)));
    const result = await this.withinBudget(spendOf(run, step, estimate), hooks.signal, () =>
      streamStep({
        model: found.model,
        ...request,
        timeouts: { firstByteMs: silence, idleMs: silence },
        ...hooks,
      }),
    );
    return { result, costUsd: found.price && costUsd(result.usage, found.price) };
  }

  /** What is held for a call that succeeds is freed where its cost is written down. */
  private async withinBudget<T>(
    spend: PlannedSpend,
    signal: AbortSignal,
    call: () => Promise<T>,
  ): Promise<T> {
    await this.budgets.admit(spend, signal);
    try {
      return await call();
    } catch (error) {
      // What cannot be freed now is replaced by the run's next attempt, or expires.
      await Promise.allSettled([this.budgets.release(spend)]);
      throw error;
    }
  }
}

function spendOf(run: Row<Run>, step: number, estimateUsd: number | null): PlannedSpend {
  const { id: runId, attempt, organization_id: organizationId, workspace_id: workspaceId } = run;
  return { runId, attempt, step, organizationId, workspaceId, estimateUsd };
}
