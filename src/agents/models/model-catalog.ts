import type { LanguageModelV4 } from '@ai-sdk/provider';
import { Injectable } from '@nestjs/common';
import { InvalidSetting } from '#libs/env-settings/index.js';
import {
  costUsd,
  ModelError,
  type ModelInfo,
  type ModelInputKind,
  type ModelPrice,
  ModelRegistry,
  type PriceTable,
  type ProviderSettings,
  type StepResult,
} from '#libs/model-client/index.js';
import { Config } from '../../platform/config/index.js';
import { Metrics } from '../../platform/metrics/index.js';

/** Tokens, of models whose own is not known; a price list can say more. */
const DEFAULT_CONTEXT_WINDOW = 128_000;

/** A model that can be called, and what is known of it. */
export interface CallableModel {
  readonly id: string;
  readonly model: LanguageModelV4;
  readonly price: ModelPrice | null;
  /** Tokens; DEFAULT_CONTEXT_WINDOW where it is not known. */
  readonly contextWindow: number;
  /** What it takes beside text. */
  readonly takes: readonly ModelInputKind[];
}

/** The language models that this installation can call. */
@Injectable()
export class ModelCatalog {
  private readonly registry: ModelRegistry;
  /** The ids of the known models, those of real providers first. */
  readonly ids: readonly string[];

  /** Throws InvalidSetting where the providers, the prices or the default make no sense. */
  constructor(config: Config) {
    try {
      const prices = config.modelPrices as PriceTable | undefined;
      this.registry = new ModelRegistry(providerSettings(config), { prices, default: config.defaultModel });
    } catch (error) {
      throw new InvalidSetting(
        `The models cannot be used as they are configured: ${(error as Error).message}`,
      );
    }
    this.ids = this.registry.list().map(({ id }) => id);
  }

  /** What is known of a model that can be called, listed or not. */
  describe(id: string): ModelInfo | undefined {
    return this.registry.describe(id);
  }

  /** The first of these models whose price is not known. */
  unpriced(ids: readonly string[]): string | undefined {
    return ids.find(id => !this.describe(id)?.price);
  }

  get defaultId(): string {
    return this.registry.defaultId();
  }

  /** The model to call; undefined when its provider is not configured. */
  find(id: string): CallableModel | undefined {
    const model = this.registry.find(id);
    const { price = null, context_window, input: takes = [] } = this.registry.describe(id) ?? {};
    const contextWindow = context_window ?? DEFAULT_CONTEXT_WINDOW;
    return model && { id, model, price, contextWindow, takes };
  }

  /** Why a model cannot be called at all; undefined when it can. */
  faultOf(id: string): string | undefined {
    if (this.registry.describe(id)) return undefined;
    const provider = id.slice(0, id.indexOf('/'));
    const isConfigured = this.ids.some(known => known.startsWith(`${provider}/`));
    const missing = `there is no model "${id.slice(0, 200)}" here`;
    return provider === '' || isConfigured
      ? missing
      : `${missing}, as no provider "${provider.slice(0, 100)}" is configured`;
  }
}

function providerSettings(config: Config): ProviderSettings {
  const {
    compatibleBaseUrl,
    compatibleName: name,
    compatibleApiKey: apiKey,
    compatibleModels: models,
  } = config;
  if (compatibleBaseUrl && models.length === 0)
    throw new Error(
      'OPENAI_COMPATIBLE_BASE_URL needs OPENAI_COMPATIBLE_MODELS, its models, e.g. llama4,qwen3.',
    );
  if (!compatibleBaseUrl && models.length > 0)
    throw new Error(
      'OPENAI_COMPATIBLE_MODELS needs OPENAI_COMPATIBLE_BASE_URL, the address of their server, e.g. http://127.0.0.1:11434/v1.',
    );
  const provider = (apiKey: string | undefined, baseUrl: string | undefined) =>
    apiKey ? { apiKey, baseUrl } : undefined;
  return {
    openai: provider(config.openaiApiKey, config.openaiBaseUrl),
    anthropic: provider(config.anthropicApiKey, config.anthropicBaseUrl),
    google: provider(config.googleApiKey, config.googleBaseUrl),
    compatible: compatibleBaseUrl ? [{ name, baseUrl: compatibleBaseUrl, apiKey, models }] : [],
  };
}

/** A token is about four bytes of English, three of code, and one character (three bytes) of Chinese. */
const BYTES_A_TOKEN = 3;

/** Long for an answer; what a call costs beyond it is how far a hard stop can be passed. */
const OUTPUT_TOKENS = 8_192;

/** What a call with this much input may cost, rather too much than too little; null where the price is not known. */
export function estimateUsd(price: ModelPrice | null, inputBytes: number): number | null {
  if (!price) return null;
  const input = Math.max(price.input, price.cache_write ?? 0);
  return ((inputBytes / BYTES_A_TOKEN) * input + OUTPUT_TOKENS * price.output) / 1_000_000;
}

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
    const model = this.catalog.ids.includes(id) ? id : 'other';
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
