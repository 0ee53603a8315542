import type { LanguageModelV4 } from '@ai-sdk/provider';
import { LRUCache } from 'lru-cache';
import { type CatalogueEntry, type ModelInputKind, PROVIDER_INPUT } from './catalogue.js';
import type { ModelPrice } from './cost.js';
import { DEMO_NAME, DEMO_PROVIDER, DemoModel } from './demo-model.js';
import { type PriceTable, readPriceTable, type StatedModel } from './price-table.js';
import { openProviders, type Provider, type ProviderSettings } from './providers.js';

export interface ModelInfo {
  /** `provider/name` */
  id: string;
  provider: string;
  name: string;
  /** Tokens; null where it is not known. */
  context_window: number | null;
  /** USD per million tokens; null where it is not known. */
  price: ModelPrice | null;
  /** What it takes beside text. */
  input: readonly ModelInputKind[];
}

const DEMO: Provider = {
  name: DEMO_PROVIDER,
  models: [
    { name: DEMO_NAME, context_window: null, price: { input: 0, output: 0, cache_read: 0, cache_write: 0 } },
  ],
  open: () => new DemoModel(),
};

/** Callers may name models that no list has: not all of them are kept for good. */
const MAX_OPEN_MODELS = 200;

/** The models that an installation can use. Ids are `provider/name`; a name may itself contain slashes. */
export class ModelRegistry {
  readonly #providers: Map<string, Provider>;
  readonly #stated: Map<string, StatedModel>;
  readonly #defaultId: string;
  readonly #open = new LRUCache<string, LanguageModelV4>({ max: MAX_OPEN_MODELS });

  /**
   * @param o.prices the operator's own figures, which extend and override the built-in catalogue
   * @param o.default id of the default model; else the first model of the first configured provider
   * @throws Error that an operator can act on, when settings or prices make no sense
   */
  constructor(settings: ProviderSettings, o: { prices?: PriceTable; default?: string } = {}) {
    const providers = [...openProviders(settings), DEMO];
    this.#providers = new Map(providers.map(provider => [provider.name, provider]));
    this.#stated = readPriceTable(o.prices ?? {});
    if (o.default !== undefined && !this.describe(o.default)) {
      throw new Error(`The default model "${o.default}" belongs to no configured provider.`);
    }
    this.#defaultId = o.default ?? this.list()[0]?.id ?? `${DEMO_PROVIDER}/${DEMO_NAME}`;
  }

  /** The known models of the configured providers, and at the end `atelier/demo`. */
  list(): ModelInfo[] {
    return [...this.#providers.values()].flatMap(provider => {
      const stated = [...this.#stated.keys()].map(split).filter(id => id?.provider === provider.name);
      const names = new Set([...provider.models, ...stated].map(model => model?.name ?? ''));
      return [...names].flatMap(name => this.describe(`${provider.name}/${name}`) ?? []);
    });
  }

  /** What is known about any usable id, listed or not. */
  describe(id: string): ModelInfo | undefined {
    const found = this.#locate(id);
    if (!found) return undefined;
    const { provider, name } = found;
    const known: CatalogueEntry | undefined = provider.models.find(model => model.name === name);
    const {
      context_window = known?.context_window,
      price = known?.price,
      input,
    } = this.#stated.get(id) ?? {};
    return {
      id,
      provider: provider.name,
      name,
      context_window: context_window ?? null,
      price: price ?? null,
      input: input ?? PROVIDER_INPUT[provider.name] ?? [],
    };
  }

  /** The model to call: the same object each time, so that it is set up once. */
  find(id: string): LanguageModelV4 | undefined {
    const found = this.#locate(id);
    const model = this.#open.get(id) ?? found?.provider.open(found.name);
    if (!model) return undefined;
    this.#open.set(id, model);
    return model;
  }

  defaultId(): string {
    return this.#defaultId;
  }

  #locate(id: string): { provider: Provider; name: string } | undefined {
    const parts = split(id);
    const provider = parts && this.#providers.get(parts.provider);
    if (!provider || (provider === DEMO && parts.name !== DEMO_NAME)) return undefined;
    return { provider, name: parts.name };
  }
}

function split(id: string): { provider: string; name: string } | undefined {
  const slash = id.indexOf('/');
  if (slash < 1 || slash === id.length - 1) return undefined;
  return { provider: id.slice(0, slash), name: id.slice(slash + 1) };
}
