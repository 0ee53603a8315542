import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { type CountingModel, isCounting } from './token-count.js';

/** Loads a provider's SDK. */
export type LoadProvider = () => Promise<{ languageModel(id: string): LanguageModelV4 }>;

/** A model whose provider's SDK is loaded with its first call: most installations use one of them, or none for hours. */
export class LazyModel implements CountingModel {
  readonly specificationVersion = 'v4';

  private readonly open: () => Promise<LanguageModelV4>;

  constructor(
    readonly provider: string,
    readonly modelId: string,
    load: LoadProvider,
  ) {
    // An SDK builds the schemas of a model with the model: once, not with each call.
    this.open = once(async () => (await load()).languageModel(modelId));
  }

  get supportedUrls(): PromiseLike<Record<string, RegExp[]>> {
    return this.open().then(({ supportedUrls }) => supportedUrls);
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    return (await this.open()).doGenerate(options);
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    return (await this.open()).doStream(options);
  }

  async countTokens(options: LanguageModelV4CallOptions): Promise<number | undefined> {
    const model = await this.open();
    return isCounting(model) ? model.countTokens(options) : undefined;
  }
}

/** Loads once, and again only where that failed. */
export function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return async () => {
    try {
      loaded ??= load();
      return await loaded;
    } catch (error) {
      loaded = undefined;
      throw error;
    }
  };
}
