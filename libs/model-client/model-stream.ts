import { setImmediate } from 'node:timers/promises';
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
 * One attempt at one answer, whose parts `take` gets. Throws nothing but {@link ModelError}: for an error part, a stream
 * without a finish part, silence, or the caller's abort; and what `take` throws, for which the request is cancelled.
 */
export async function readAnswer(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  timeouts: StreamTimeouts,
  signal: AbortSignal,
  take: (part: AnswerPart) => void,
): Promise<void> {
  const lifeline = new Lifeline(signal, timeouts, () => modelLabel(model));
  const intake = new Intake(model, lifeline, take);
  try {
    if (lifeline.reason) throw lifeline.reason;
    await readStream(model, options, lifeline, intake);
    if (!intake.isFinished) throw cutStream(model);
  } catch (error) {
    if (intake.refusal) throw intake.refusal.error;
    const { reason } = lifeline;
    if (reason instanceof ModelError && (!intake.isFinished || signal.aborted)) throw reason;
    // What goes wrong after the finish part (a connection that is not closed, or badly) spoils nothing.
    if (!intake.isFinished) throw toModelError(error, model);
  } finally {
    lifeline.close();
  }
}

/** More characters than any model writes, and what each part counts besides. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
const PART_CHARACTERS = 16;
/** Characters between two turns of the event loop. */
const CHARACTERS_IN_A_TURN = 64 * 1024;

/** Takes the parts of an answer, until it or the attempt is over. */
class Intake {
  isFinished = false;
  private characters = 0;
  private inTurn = 0;
  /** What its reader threw. */
  refusal: { readonly error: unknown } | undefined;

  constructor(
    private readonly model: LanguageModelV4,
    private readonly lifeline: Lifeline,
    private readonly read: (part: AnswerPart) => void,
  ) {}

  async take(part: LanguageModelV4StreamPart): Promise<void> {
    if (this.lifeline.reason) throw this.lifeline.reason;
    this.count(part);
    if (this.inTurn > CHARACTERS_IN_A_TURN) {
      this.inTurn = 0;
      await setImmediate();
    }
    if (part.type === 'error') throw part.error;
    if (part.type === 'finish') {
      // Google's word for arguments that it could not read itself: there is nothing in the answer to go on from.
      if (part.finishReason.raw === 'MALFORMED_FUNCTION_CALL') throw brokenCall(this.model);
      this.isFinished = part.finishReason.unified !== 'interrupted';
    }
    try {
      this.read(part);
    } catch (error) {
      this.refusal = { error };
      throw error;
    }
  }

  private count(part: LanguageModelV4StreamPart): void {
    const characters = PART_CHARACTERS + lengthOf(part);
    this.characters += characters;
    this.inTurn += characters;
    if (this.characters > MAX_CHARACTERS) throw endlessAnswer(this.model);
  }
}

const lengthOf = (part: LanguageModelV4StreamPart): number =>
  'delta' in part ? part.delta.length : part.type === 'tool-call' ? part.input.length : 0;

async function readStream(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  lifeline: Lifeline,
  intake: Intake,
): Promise<void> {
  const reader = (await open(model, options, lifeline)).getReader();
  try {
    for (;;) {
      const { done, value: part } = await lifeline.race(reader.read());
      if (done) return;
      // A provider opens its stream with this part by itself, before the server has said anything.
      if (part.type !== 'stream-start') lifeline.beat();
      await intake.take(part);
    }
  } finally {
    lifeline.close();
    reader.cancel().catch(ignoreCancelled);
  }
}

async function open(model: LanguageModelV4, options: LanguageModelV4CallOptions, lifeline: Lifeline) {
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

function endlessAnswer(model: LanguageModelV4): ModelError {
  const message = `${modelLabel(model)} answered with more than ${MAX_CHARACTERS} characters, and was not read any further.`;
  return new ModelError('unknown', message);
}

function brokenCall(model: LanguageModelV4): ModelError {
  const message = `${modelLabel(model)} wrote a call of a tool that its provider could not read.`;
  return new ModelError('unknown', message, { retryable: true });
}

/** A stream that already failed rejects its cancellation with the failure that was reported above. */
function ignoreCancelled(): void {}
