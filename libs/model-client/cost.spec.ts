import { costUsd, type StepUsage } from './cost.js';

const USAGE: StepUsage = {
  input_tokens: 1_000_000,
  output_tokens: 100_000,
  cache_read_tokens: 600_000,
  cache_write_tokens: 200_000,
  reasoning_tokens: 50_000,
};

describe('the cost of a step', () => {
  it('charges cached tokens at their own price, and reasoning as output', () => {
    const price = { input: 2, output: 10, cache_read: 0.2, cache_write: 2.5 };
    expect(costUsd(USAGE, price)).toBeCloseTo(0.2 * 2 + 0.6 * 0.2 + 0.2 * 2.5 + 0.1 * 10, 10);
  });

  it('charges cached tokens like plain input where they have no price', () => {
    const price = { input: 2, output: 10, cache_read: null, cache_write: null };
    expect(costUsd(USAGE, price)).toBeCloseTo(3, 10);
  });

  it('is unknown without a price or a count', () => {
    const price = { input: 2, output: 10, cache_read: null, cache_write: null };
    expect(costUsd(USAGE, null)).toBeNull();
    expect(costUsd({ ...USAGE, input_tokens: null }, price)).toBeNull();
    expect(costUsd({ ...USAGE, output_tokens: null }, price)).toBeNull();
  });

  it('is nothing for a model that costs nothing', () => {
    expect(costUsd(USAGE, { input: 0, output: 0, cache_read: 0, cache_write: 0 })).toBe(0);
  });
});
