/** USD per million tokens. A null cache price means that such tokens cost what plain input costs. */
export interface ModelPrice {
  input: number;
  output: number;
  cache_read: number | null;
  cache_write: number | null;
}

/**
 * Tokens of one step as the provider counted them; null where it did not. `input_tokens` includes the cached
 * ones, `output_tokens` the reasoning ones.
 */
export interface StepUsage {
  input_tokens: number | null;
  output_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
  reasoning_tokens: number | null;
}

/** Null where the price, or a count it needs, is unknown. */
export function costUsd(usage: StepUsage, price: ModelPrice | null): number | null {
  if (!price || usage.input_tokens === null || usage.output_tokens === null) return null;
  const read = usage.cache_read_tokens ?? 0;
  const written = usage.cache_write_tokens ?? 0;
  const plain = Math.max(0, usage.input_tokens - read - written);
  const microUsd =
    plain * price.input +
    read * (price.cache_read ?? price.input) +
    written * (price.cache_write ?? price.input) +
    usage.output_tokens * price.output;
  return microUsd / 1_000_000;
}
