import type { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
  SharedV4Warning,
} from '@ai-sdk/provider';
import { type Cancellation, SignalCancellation } from '../cancellation.js';
import type { AnswerObserver, ObservableModel } from '../observable-model.js';
import type { CountingModel } from '../token-count.js';
import { listenerOf } from './bytes.js';
import { type Endpoint, postJson } from './connection.js';
import { type Emit, type EventReader, observeParts, streamParts } from './part-stream.js';

export interface PreparedCall {
  headers?: Record<string, string>;
  body: Record<string, unknown>;
  /** The body as JSON, where it is put together from what is known already. */
  text?: string;
  warnings: SharedV4Warning[];
  /** For the events of the answer. */
  reader: (emit: Emit) => EventReader;
}

/** A protocol between a model and its server. */
export interface Wire {
  endpoint: Endpoint;
  headers: Record<string, string | undefined>;
  key: string | undefined;
  /** What to send; undefined for the calls that only the SDK knows how to read. */
  prepare(options: LanguageModelV4CallOptions): Promise<PreparedCall | undefined>;
  /** Where its tokens are counted, and what to send there of a call; absent: nowhere. */
  counting?: { endpoint: Endpoint; bodyOf(call: PreparedCall): Record<string, unknown> };
}

/**
 * A model whose answers are read without the SDK. The SDK writes the requests, as it knows what each model wants; its reading
 * (`fetch`, several streams in a row, a schema for each event) takes most of the processor time of a call, though.
 */
export class NativeModel implements CountingModel, ObservableModel {
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
    const { abortSignal: signal } = options;
    const body = await this.post(call, options, signal && new SignalCancellation(signal));
    return { stream: streamParts(body, opening(call), listenerOf(signal)), request: { body: call.body } };
  }

  async observe(
    options: LanguageModelV4CallOptions,
    cancellation: Cancellation,
    observer: AnswerObserver,
  ): Promise<boolean> {
    const call = await this.wire.prepare(options);
    if (!call) return false;
    observeParts(await this.post(call, options, cancellation), opening(call), observer);
    return true;
  }

  private post(
    call: PreparedCall,
    options: LanguageModelV4CallOptions,
    cancellation: Cancellation | undefined,
  ): Promise<Readable> {
    const { endpoint, headers, key } = this.wire;
    return postJson({
      endpoint,
      headers: { ...headers, ...options.headers, ...call.headers },
      text: call.text ?? JSON.stringify(call.body),
      cancellation,
      key,
    });
  }

  async countTokens(options: LanguageModelV4CallOptions): Promise<number | undefined> {
    const { headers, key, counting } = this.wire;
    const call = counting && (await this.wire.prepare(options));
    if (!counting || !call) return undefined;
    const answer = await postJson({
      endpoint: counting.endpoint,
      headers: { ...headers, ...call.headers },
      text: JSON.stringify(counting.bodyOf(call)),
      cancellation: options.abortSignal && new SignalCancellation(options.abortSignal),
      key,
    });
    const { input_tokens } = (await json(answer)) as { input_tokens?: unknown };
    return typeof input_tokens === 'number' ? input_tokens : undefined;
  }
}

/** Opens the reader of a call's answer, whose first part has the warnings. */
function opening({ warnings, reader }: PreparedCall): (emit: Emit) => EventReader {
  return emit => {
    emit({ type: 'stream-start', warnings });
    return reader(emit);
  };
}
