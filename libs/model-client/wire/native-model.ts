import { json } from 'node:stream/consumers';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
  SharedV4Warning,
} from '@ai-sdk/provider';
import type { CountingModel } from '../token-count.js';
import { listenerOf } from './bytes.js';
import { postJson } from './connection.js';
import { type Emit, type EventReader, streamParts } from './part-stream.js';

export interface PreparedCall {
  headers?: Record<string, string>;
  body: Record<string, unknown>;
  warnings: SharedV4Warning[];
  /** For the events of the answer. */
  reader: (emit: Emit) => EventReader;
}

/** A protocol between a model and its server. */
export interface Wire {
  url: string;
  headers: Record<string, string | undefined>;
  key: string | undefined;
  /** What to send; undefined for the calls that only the SDK knows how to read. */
  prepare(options: LanguageModelV4CallOptions): Promise<PreparedCall | undefined>;
  /** Where its tokens are counted, and what to send there of a call; absent: nowhere. */
  counting?: { url: string; bodyOf(call: PreparedCall): Record<string, unknown> };
}

/**
 * A model whose answers are read without the SDK. The SDK writes the requests, as it knows what each model wants; its reading
 * (`fetch`, several streams in a row, a schema for each event) takes most of the processor time of a call, though.
 */
export class NativeModel implements CountingModel {
  readonly specificationVersion = 'v4';

  constructor(
    private readonly sdk: LanguageModelV4,
    private readonly wire: Wire,
  ) {}

  get provider(): string {
    return this.sdk.provider;
  }

  get modelId(): string {
    return this.sdk.modelId;
  }

  get supportedUrls(): LanguageModelV4['supportedUrls'] {
    return this.sdk.supportedUrls;
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    return this.sdk.doGenerate(options);
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const call = await this.wire.prepare(options);
    if (!call) return this.sdk.doStream(options);
    const { url, headers, key } = this.wire;
    const { abortSignal: signal } = options;
    const body = await postJson({
      url,
      headers: { ...headers, ...options.headers, ...call.headers },
      body: call.body,
      signal,
      key,
    });
    const open = (emit: Emit) => {
      emit({ type: 'stream-start', warnings: call.warnings });
      return call.reader(emit);
    };
    return { stream: streamParts(body, open, listenerOf(signal)), request: { body: call.body } };
  }

  async countTokens(options: LanguageModelV4CallOptions): Promise<number | undefined> {
    const { headers, key, counting } = this.wire;
    const call = counting && (await this.wire.prepare(options));
    if (!counting || !call) return undefined;
    const answer = await postJson({
      url: counting.url,
      headers: { ...headers, ...call.headers },
      body: counting.bodyOf(call),
      signal: options.abortSignal,
      key,
    });
    const { input_tokens } = (await json(answer)) as { input_tokens?: unknown };
    return typeof input_tokens === 'number' ? input_tokens : undefined;
  }
}
