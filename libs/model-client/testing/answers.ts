import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { ModelError } from '../model-error.js';
import { streamStep } from '../step.js';

/** An answer as a server sends it. */
export interface Answer {
  bytes: Buffer;
  /** The connection breaks after the last byte. */
  cut?: boolean;
}

/** Makes a model whose server gives one answer, in these pieces. */
export type Answering = (answer: Answer, pieces?: Buffer[]) => LanguageModelV4;

export const chatModel: Answering = (answer, pieces) =>
  createOpenAICompatible({
    name: 'local',
    baseURL: 'http://127.0.0.1/v1',
    fetch: async () => respond(answer, pieces),
  }).languageModel('small');

export const anthropicModel: Answering = (answer, pieces) =>
  createAnthropic({ apiKey: 'key', fetch: async () => respond(answer, pieces) }).languageModel('small');

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

/** Calls that come without an id are given a random one. */
function withoutMadeUpIds<T>(value: T): T {
  return JSON.parse(
    JSON.stringify(value).replaceAll(/"toolCallId":"\w{16}"|"id":"\w{16}"/g, '"id":"made up"'),
  );
}

function respond(answer: Answer, pieces: Buffer[] = [answer.bytes]): Response {
  return new Response(ReadableStream.from(arriving(answer, pieces)), {
    headers: { 'content-type': 'text/event-stream' },
  });
}

async function* arriving({ cut }: Answer, pieces: Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
  if (cut) throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
}
