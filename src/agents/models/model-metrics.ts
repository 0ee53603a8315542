import { Injectable } from '@nestjs/common';
import { costUsd, ModelError, type StepResult } from '#libs/model-client/index.js';
import { Metrics } from '../../platform/metrics/index.js';
import { type CallableModel, ModelCatalog } from './model-catalog.js';

/** Seconds. */
const BUCKETS = [0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];
const TOKENS = {
  input: 'input_tokens',
  output: 'output_tokens',
  cache_read: 'cache_read_tokens',
  cache_write: 'cache_write_tokens',
} as const satisfies Record<string, keyof StepResult['usage']>;

/** Counts calls of models, by the models that are listed here; one that may be called without that is "other". */
@Injectable()
export class ModelMetrics {
  private readonly calls;
  private readonly durations;
  private readonly tokens;
  private readonly cost;

  constructor(
    metrics: Metrics,
    private readonly catalog: ModelCatalog,
  ) {
    this.calls = metrics.counter({
      name: 'atelier_model_calls_total',
      help: 'Calls of models, by how they ended: ok, the kind of the failure, or unanswered where they were stopped.',
      labels: ['model', 'outcome'],
    });
    this.durations = metrics.histogram(
      {
        name: 'atelier_model_call_duration_seconds',
        help: 'Time until a model had answered, waiting for a turn and trying again included.',
        labels: ['model'],
      },
      BUCKETS,
    );
    this.tokens = metrics.counter({
      name: 'atelier_model_tokens_total',
      help: 'Tokens of answered calls; input includes those of the cache.',
      labels: ['model', 'kind'],
    });
    this.cost = metrics.counter({
      name: 'atelier_model_cost_usd_total',
      help: 'Cost of answered calls of models whose price is known.',
      labels: ['model'],
    });
  }

  /** Counts a call while it is made. */
  async during({ id, price }: CallableModel, call: () => Promise<StepResult>): Promise<StepResult> {
    const model = this.catalog.ids().includes(id) ? id : 'other';
    const started = performance.now();
    try {
      const result = await call();
      this.calls.add({ model, outcome: 'ok' });
      for (const [kind, field] of Object.entries(TOKENS))
        this.tokens.add({ model, kind }, result.usage[field] ?? 0);
      if (price) this.cost.add({ model }, costUsd(result.usage, price) ?? 0);
      return result;
    } catch (error) {
      this.calls.add({ model, outcome: error instanceof ModelError ? error.kind : 'unanswered' });
      throw error;
    } finally {
      this.durations.observe({ model }, (performance.now() - started) / 1000);
    }
  }
}
