import type { LanguageModelV4 } from '@ai-sdk/provider';
import { CATALOGUE, type CatalogueEntry } from './catalogue.js';
import { DEMO_PROVIDER } from './demo-model.js';
import { withArgumentsAsText } from './google-arguments.js';
import { LazyModel, type LoadProvider, once } from './lazy-model.js';
import { providerFetch } from './provider-fetch.js';

interface KeySettings {
  apiKey: string;
  /**
   * As the provider's own tools take it: OpenAI's with the version, Anthropic's and Google's without. With the version is
   * right for all.
   */
  baseUrl?: string;
}

/** What an operator configured. A provider that is left out offers no models. */
export interface ProviderSettings {
  openai?: KeySettings;
  anthropic?: KeySettings;
  google?: KeySettings;
  /** Servers that speak OpenAI's chat completions: Ollama, vLLM, LM Studio, OpenRouter … */
  compatible?: { name: string; baseUrl: string; apiKey?: string; models: string[] }[];
}

export interface Provider {
  name: string;
  /** Models to offer; the provider may have others. */
  models: readonly CatalogueEntry[];
  open: (name: string) => LanguageModelV4;
}

// Stated here so that the SDKs do not look for a base URL in the environment.
const BASE_URL = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
};

/** Version segment that tools of a provider add to its base URL. */
const VERSION: { readonly [name: string]: string | undefined } = { anthropic: '/v1', google: '/v1beta' };

function withVersion(name: string, url: string): string {
  const version = VERSION[name];
  const bare = url.replace(/\/+$/, '');
  return version === undefined || /\/v\d+(alpha|beta)?$/.test(bare) ? bare : bare + version;
}

type Options = { apiKey: string; baseURL: string; fetch: typeof globalThis.fetch };

const LOAD: Record<'openai' | 'anthropic' | 'google', (options: Options) => ReturnType<LoadProvider>> = {
  openai: async options => (await import('@ai-sdk/openai')).createOpenAI(options),
  anthropic: async options => (await import('./anthropic-models.js')).anthropicModels(options),
  google: async options =>
    (await import('@ai-sdk/google')).createGoogle({ ...options, fetch: withArgumentsAsText(options.fetch) }),
};
const ORDER = ['anthropic', 'openai', 'google'] as const;

/** The configured providers. Throws an Error an operator can act on when the settings make no sense. */
export function openProviders(settings: ProviderSettings): Provider[] {
  const wellKnown = ORDER.flatMap(name => {
    const given = settings[name];
    return given ? [openWellKnown(name, given)] : [];
  });
  const providers = [...wellKnown, ...(settings.compatible ?? []).map(openCompatible)];
  const taken = new Set<string>([...ORDER.filter(name => !settings[name]), DEMO_PROVIDER]);
  for (const { name } of providers) {
    if (taken.has(name)) throw new Error(`The model provider name "${name}" is reserved or used twice.`);
    taken.add(name);
  }
  return providers;
}

function openWellKnown(name: (typeof ORDER)[number], { apiKey, baseUrl }: KeySettings): Provider {
  if (apiKey.trim() === '') throw new Error(`The API key of the model provider "${name}" is empty.`);
  const baseURL = withVersion(name, checkedUrl(name, baseUrl ?? BASE_URL[name]));
  const load = once(() => LOAD[name]({ apiKey, baseURL, fetch: providerFetch(apiKey) }));
  return { name, models: CATALOGUE[name], open: id => new LazyModel(name, id, load) };
}

function openCompatible(server: NonNullable<ProviderSettings['compatible']>[number]): Provider {
  const { name, baseUrl, apiKey, models } = server;
  if (!/^[a-z0-9][a-z0-9_-]*$/i.test(name)) {
    throw new Error(`The model provider name "${name}" must consist of letters, digits, "-" and "_".`);
  }
  const settings = { name, baseURL: checkedUrl(name, baseUrl), apiKey, fetch: providerFetch(apiKey) };
  const load = once(async () => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    // Without it most servers report no usage in a stream.
    return createOpenAICompatible({ ...settings, includeUsage: true });
  });
  return {
    name,
    models: models.map(model => ({ name: model, context_window: null, price: null })),
    open: id => new LazyModel(name, id, load),
  };
}

function checkedUrl(name: string, url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new Error(`The base URL of the model provider "${name}" is not an http or https URL: ${url}`);
}
