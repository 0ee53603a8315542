import type { LanguageModelV4 } from '@ai-sdk/provider';
import { LazyModel } from './lazy-model.js';

const CALL = { prompt: [] };
const sdkModel = { doStream: async () => ({}) } as unknown as LanguageModelV4;

describe('a model whose SDK is loaded with its first call', () => {
  it('takes the model from the SDK once', async () => {
    let made = 0;
    const languageModel = () => {
      made += 1;
      return sdkModel;
    };
    const model = new LazyModel('acme', 'm', async () => ({ languageModel }));
    expect(made).toBe(0);
    await Promise.all([model.doStream(CALL), model.doStream(CALL)]);
    await model.doStream(CALL);
    expect(made).toBe(1);
  });

  it('tries again where loading failed', async () => {
    let loads = 0;
    const model = new LazyModel('acme', 'm', async () => {
      loads += 1;
      if (loads === 1) throw new Error('not yet');
      return { languageModel: () => sdkModel };
    });
    await expect(model.doStream(CALL)).rejects.toThrow('not yet');
    await model.doStream(CALL);
    expect(loads).toBe(2);
  });
});
