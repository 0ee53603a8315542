import { Readable } from 'node:stream';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { ModelError } from '../../model-error.js';
import type { ObservableModel } from '../../observable-model.js';
import { streamStep } from '../../step.js';
import { AnthropicReader } from '../anthropic-reader.js';
import { ChatReader } from '../chat-reader.js';
import { type Emit, type EventReader, observeParts, streamParts } from '../part-stream.js';

/** An answer as it goes over the wire. */
export interface Answer {
  bytes: Buffer;
  /** The connection breaks after the last byte. */
  cut?: boolean;
}

/** For tests: how the same answers are read by the AI SDK and by this library. */
export interface BothReaders {
  sdk(answer: Answer, chunks?: Buffer[]): LanguageModelV4;
  ours(answer: Answer, chunks?: Buffer[]): LanguageModelV4;
}

export const chatReaders: BothReaders = {
  sdk: (answer, chunks = [answer.bytes]) =>
    createOpenAICompatible({
      name: 'local',
      baseURL: 'http://127.0.0.1/v1',
      fetch: async () => respond(answer, chunks),
    }).languageModel('small'),
  ours: (answer, chunks = [answer.bytes]) =>
    reading('local.chat', emit => new ChatReader(emit, 'local'), answer, chunks),
};

export const anthropicReaders: BothReaders = {
  sdk: (answer, chunks = [answer.bytes]) =>
    createAnthropic({ apiKey: 'key', fetch: async () => respond(answer, chunks) }).languageModel('small'),
  ours: (answer, chunks = [answer.bytes]) =>
    reading('anthropic.messages', emit => new AnthropicReader(emit), answer, chunks),
};

/** Server-sent events of JSON; a string stands as it is. */
export function eventsOf(...events: (object | string)[]): Answer {
  const lines = events.map(event =>
    typeof event === 'string' ? event : `event: x\ndata: ${JSON.stringify(event)}\n\n`,
  );
  return { bytes: Buffer.from(lines.join('')) };
}

/** What a step makes of it, or how it fails. */
export async function outcomeOf(model: LanguageModelV4) {
  const deltas: string[] = [];
  const step = streamStep({
    model,
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    tools: [],
    signal: new AbortController().signal,
    retry: { attempts: 1, baseMs: 1, maxMs: 1 },
    onDelta: ({ type, text }) => deltas.push(`${type}: ${text}`),
    onRestart: () => {},
  });
  const result = await step.catch((error: unknown) => {
    if (!(error instanceof ModelError)) throw error;
    const { kind, retryable, status, message, retryAfterMs } = error;
    // Those of a failed attempt are void, and streams lose some.
    deltas.length = 0;
    return { kind, retryable, status, message, retryAfterMs };
  });
  return withoutMadeUpIds({ deltas, result });
}

/** The parts of the stream that a step makes use of. */
export async function partsOf(model: LanguageModelV4) {
  const { stream } = await model.doStream({ prompt: [] });
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return withoutMadeUpIds(parts.filter(({ type }) => !/^(tool-input|source|custom)/.test(type)).map(used));
}

function used(part: LanguageModelV4StreamPart) {
  if (part.type === 'text-end') return { ...part, citations: undefined };
  if (part.type === 'stream-start') return { ...part, warnings: [] };
  if (part.type !== 'finish') return part;
  return { ...part, providerMetadata: undefined, usage: { ...part.usage, raw: undefined } };
}

/** Calls that come without an id are given a random one. */
function withoutMadeUpIds<T>(value: T): T {
  return JSON.parse(
    JSON.stringify(value).replaceAll(/"toolCallId":"\w{16}"|"id":"\w{16}"/g, '"id":"made up"'),
  );
}

function reading(
  provider: string,
  open: (emit: Emit) => EventReader,
  answer: Answer,
  chunks: Buffer[],
): ObservableModel {
  const start = (emit: Emit) => {
    emit({ type: 'stream-start', warnings: [] });
    return open(emit);
  };
  return {
    specificationVersion: 'v4',
    provider,
    modelId: 'small',
    supportedUrls: {},
    doStream: async () => ({
      stream: streamParts(Readable.from(arriving(answer, chunks)), start, undefined),
    }),
    observe: async (_options, _cancellation, observer) => {
      observeParts(Readable.from(arriving(answer, chunks)), start, observer);
      return true;
    },
    doGenerate: () => Promise.reject(new Error('Not here')),
  };
}

function respond(answer: Answer, chunks: Buffer[]): Response {
  return new Response(ReadableStream.from(arriving(answer, chunks)), {
    headers: { 'content-type': 'text/event-stream' },
  });
}

async function* arriving({ cut }: Answer, chunks: Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
  if (cut) throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
}
