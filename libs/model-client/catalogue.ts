import type { ModelPrice } from './cost.js';

/** When the figures below were last compared with what the providers publish. */
export const CATALOGUE_DATE = '2026-11-21';

/** What a model may take beside text. */
export type ModelInputKind = 'image' | 'pdf';

export interface CatalogueEntry {
  name: string;
  context_window: number | null;
  price: ModelPrice | null;
}

/** What the models of a provider take; those of servers that are not listed here take what their operator says. */
export const PROVIDER_INPUT: Readonly<Record<string, readonly ModelInputKind[]>> = {
  anthropic: ['image', 'pdf'],
  openai: ['image', 'pdf'],
  google: ['image', 'pdf'],
};

/**
 * Well-known models by provider, the first of each being that provider's default. Null is "not sure", and
 * models whose price depends on more than the token count stay null too. OpenAI's prices hold for prompts up
 * to 272,000 tokens, Anthropic's cache price for its five-minute cache.
 */
export const CATALOGUE: Readonly<Record<'anthropic' | 'openai' | 'google', readonly CatalogueEntry[]>> = {
  anthropic: [
    model('claude-sonnet-5-5', 1_000_000, price(2, 10, 0.2, 2.5)),
    model('claude-opus-5-5', 1_000_000, price(4, 20, 0.4, 5)),
    model('claude-fable-5-1', 1_000_000, price(10, 50, 1, 12.5)),
    model('claude-haiku-5-5'),
    model('claude-haiku-4-5', 200_000, price(1, 5, 0.1, 1.25)),
  ],
  openai: [
    model('gpt-6.1-sol', 1_050_000, price(2, 10, 0.1, 2.5)),
    model('gpt-6-astra', 1_050_000, price(10, 50, 1, null)),
    model('gpt-6.1-terra', 1_050_000, price(1, 5, 0.05, 1.25)),
    model('gpt-6-luna'),
  ],
  google: [
    model('gemini-3.8-flash'),
    model('gemini-3.5-flash-lite'),
    model('gemini-3.1-pro-preview'),
    model('gemini-2.5-pro', 1_048_576),
    model('gemini-2.5-flash', 1_048_576, price(0.3, 2.5, 0.03, null)),
  ],
};

function model(
  name: string,
  context_window: number | null = null,
  cost: ModelPrice | null = null,
): CatalogueEntry {
  return { name, context_window, price: cost };
}

function price(
  input: number,
  output: number,
  cache_read: number | null,
  cache_write: number | null,
): ModelPrice {
  return { input, output, cache_read, cache_write };
}
