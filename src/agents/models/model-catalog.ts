import type { LanguageModelV4 } from '@ai-sdk/provider';
import { Injectable } from '@nestjs/common';
import {
  type ModelInfo,
  type ModelInputKind,
  type ModelPrice,
  ModelRegistry,
  type PriceTable,
  type ProviderSettings,
} from '#libs/model-client/index.js';
import { Config, InvalidSetting } from '../../platform/config/index.js';

/** A model that can be called, and what is known of it. */
export interface CallableModel {
  readonly id: string;
  readonly model: LanguageModelV4;
  readonly price: ModelPrice | null;
  /** Tokens; null: not known. */
  readonly contextWindow: number | null;
  /** What it takes beside text. */
  readonly takes: readonly ModelInputKind[];
}

/** The language models that this installation can call, whoever asks. */
@Injectable()
export class ModelCatalog {
  private readonly registry: ModelRegistry;

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
  }

  /** The ids of the known models, those of real providers first. */
  ids(): string[] {
    return this.registry.list().map(({ id }) => id);
  }

  /** What is known of a model that can be called, listed or not. */
  describe(id: string): ModelInfo | undefined {
    return this.registry.describe(id);
  }

  get defaultId(): string {
    return this.registry.defaultId();
  }

  /** The model to call; undefined when its provider is not configured. */
  find(id: string): CallableModel | undefined {
    const model = this.registry.find(id);
    const {
      price = null,
      context_window: contextWindow = null,
      input: takes = [],
    } = this.registry.describe(id) ?? {};
    return model && { id, model, price, contextWindow, takes };
  }

  /** Why a model cannot be called at all; undefined when it can. */
  faultOf(id: string): string | undefined {
    if (this.registry.describe(id)) return undefined;
    const provider = id.slice(0, id.indexOf('/'));
    const isConfigured = this.ids().some(known => known.startsWith(`${provider}/`));
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
