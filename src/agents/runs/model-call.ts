import { Injectable } from '@nestjs/common';
import {
  costUsd,
  countTokens,
  type StepRequest,
  type StepResult,
  streamStep,
} from '#libs/model-client/index.js';
import { Budgets, type PlannedSpend } from '../../identity/billing/index.js';
import { Config } from '../../platform/config/index.js';
import { Unavailable } from '../../platform/errors/index.js';
import type { ModelInput } from '../chats/index.js';
import {
  type CallableModel,
  estimateUsd,
  ModelCatalog,
  ModelMetrics,
  ModelSettingsStore,
  ModelSlots,
  ModelUnusable,
} from '../models/index.js';
import type { ExecutedRun } from './run-queue.store.js';
import type { RunRow } from './run-state.js';

/** The run that pays, and its place. */
type Paying = Pick<ExecutedRun, 'id' | 'attempt' | 'chat_id' | 'organization_id' | 'workspace_id'>;

/** One call of a model on behalf of a run. */
export interface ModelCall extends Pick<StepRequest, 'signal' | 'onDelta' | 'onRestart' | 'responseSchema'> {
  run: Paying;
  /** The step that it is for. */
  step: number;
  model: CallableModel;
  input: ModelInput;
  /** Size of the input. */
  bytes: number;
  /** Called when the call has to wait, as too many are made to its provider. */
  onWait: (provider: string) => void;
}

export interface ModelAnswer {
  result: StepResult;
  costUsd: number | null;
  /** Id of the model that gave it. */
  model: string;
}

/** Calls models on behalf of runs, within their budgets. */
@Injectable()
export class ModelCaller {
  constructor(
    private readonly models: ModelSettingsStore,
    private readonly catalog: ModelCatalog,
    private readonly budgets: Budgets,
    private readonly slots: ModelSlots,
    private readonly metrics: ModelMetrics,
    private readonly config: Config,
  ) {}

  /** Throws ModelUnusable where the organization may no longer use the run's model. */
  async check({ organization_id, model }: Pick<RunRow, 'organization_id' | 'model'>): Promise<void> {
    await this.models.resolve(organization_id, model);
  }

  /** Whether the organization may use a model, and its provider is configured. */
  async isUsable({ organization_id }: Pick<RunRow, 'organization_id'>, model: string): Promise<boolean> {
    try {
      await this.models.resolve(organization_id, model);
      return this.catalog.find(model) !== undefined;
    } catch (error) {
      if (error instanceof ModelUnusable) return false;
      throw error;
    }
  }

  /** Throws Unavailable where the model's provider is no longer configured. */
  open(model: string): CallableModel {
    const found = this.catalog.find(model);
    if (!found) throw new Unavailable(`The model ${model} is no longer configured`);
    return found;
  }

  /** How many tokens an input has, where the provider of the model tells that beforehand. */
  count({ model }: CallableModel, input: ModelInput, signal: AbortSignal): Promise<number | undefined> {
    return countTokens({ model, ...input, signal });
  }

  /** Throws BudgetReached, before the model is called, where a budget has no room for what that may cost. */
  async call({ run, step, model, input, bytes, onWait, ...hooks }: ModelCall): Promise<ModelAnswer> {
    const silence = this.config.modelTimeoutSeconds * 1000;
    const estimate = estimateUsd(model.price, bytes);
    const stream = () =>
      this.metrics.during(model, () =>
        streamStep({
          model: model.model,
          ...input,
          timeouts: { firstByteMs: silence, idleMs: silence },
          cacheKey: run.chat_id,
          enter: () => this.enter(model.id, run.organization_id, hooks.signal, onWait),
          ...hooks,
        }),
      );
    const result = await this.withinBudget(spendOf(run, step, estimate), hooks.signal, stream);
    return { result, costUsd: model.price && costUsd(result.usage, model.price), model: model.id };
  }

  /** Organizations take turns where a provider is asked for more than it is given at once. */
  private enter(
    modelId: string,
    organizationId: string,
    signal: AbortSignal,
    onWait: ModelCall['onWait'],
  ): Promise<() => void> {
    const provider = modelId.slice(0, modelId.indexOf('/'));
    const limit = this.config.modelConcurrency.get(provider);
    if (limit === undefined) return Promise.resolve(() => {});
    return this.slots.enter({ provider, organizationId, limit }, signal, () => onWait(provider));
  }

  /** The reservation of a call that succeeds is released where its cost is written. */
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

function spendOf(run: Paying, step: number, estimateUsd: number | null): PlannedSpend {
  const { id: runId, attempt, organization_id: organizationId, workspace_id: workspaceId } = run;
  return { runId, attempt, step, organizationId, workspaceId, estimateUsd };
}
