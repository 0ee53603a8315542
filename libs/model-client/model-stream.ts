import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { modelLabel, toModelError } from './error-mapping.js';
import { Lifeline, type StreamTimeouts } from './lifeline.js';
import { ModelError } from './model-error.js';

export type AnswerPart = Exclude<LanguageModelV4StreamPart, { type: 'error' }>;

/**
 * One attempt at one answer. Yields the parts of the stream and throws nothing but {@link ModelError}: for
 * an error part, a stream without a finish part, silence, or the caller's abort. A caller that leaves the loop
 * early, the request is cancelled.
 */
export async function* streamAnswer(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  timeouts: StreamTimeouts,
  signal: AbortSignal,
): AsyncGenerator<AnswerPart, void, undefined> {
  const lifeline = new Lifeline(signal, timeouts, modelLabel(model));
  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined;
  let finished = false;
  try {
    reader = (await open(model, options, lifeline)).getReader();
    for (;;) {
      const { done, value: part } = await lifeline.race(reader.read());
      if (done) break;
      if (part.type === 'error') throw part.error;
      // A provider opens its stream with this part by itself, before the server has said anything.
      if (part.type !== 'stream-start') lifeline.beat();
      // Google's word for arguments that it could not read itself: there is nothing in the answer to go on from.
      if (part.type === 'finish' && part.finishReason.raw === 'MALFORMED_FUNCTION_CALL')
        throw brokenCall(model);
      if (part.type === 'finish') finished = part.finishReason.unified !== 'interrupted';
      yield part;
    }
    if (!finished) throw cutStream(model);
  } catch (error) {
    if (lifeline.signal.reason instanceof ModelError && (!finished || signal.aborted)) {
      throw lifeline.signal.reason;
    }
    // What goes wrong after the finish part (a connection that is not closed, or badly) spoils nothing.
    if (!finished) throw toModelError(error, model);
  } finally {
    lifeline.close();
    reader?.cancel().catch(ignoreCancelled);
  }
}

async function open(model: LanguageModelV4, options: LanguageModelV4CallOptions, lifeline: Lifeline) {
  lifeline.signal.throwIfAborted();
  const opening = Promise.resolve(model.doStream({ ...options, abortSignal: lifeline.signal }));
  try {
    return (await lifeline.race(opening)).stream;
  } catch (error) {
    // A provider that ignores the signal may still open its stream later: no one would read it.
    opening.then(({ stream }) => stream.cancel()).catch(ignoreCancelled);
    throw error;
  }
}

function cutStream(model: LanguageModelV4): ModelError {
  return new ModelError('network', `The answer of ${modelLabel(model)} was cut off before its end.`);
}

function brokenCall(model: LanguageModelV4): ModelError {
  const message = `${modelLabel(model)} wrote a call of a tool that its provider could not read.`;
  return new ModelError('unknown', message, { retryable: true });
}

/** A stream that already failed rejects its cancellation with the failure that was reported above. */
function ignoreCancelled(): void {}
