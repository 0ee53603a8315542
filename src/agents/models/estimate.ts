import type { ModelPrice } from '#libs/model-client/index.js';

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
