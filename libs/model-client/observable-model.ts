import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type { Cancellation } from './cancellation.js';

/** Gets an answer as it comes; what it throws ends the call, as does `fail`. */
export interface AnswerObserver {
  /** Something came over the connection. */
  heard(): void;
  part(part: LanguageModelV4StreamPart): void;
  /** There is no more of it. */
  end(): void;
  fail(error: unknown): void;
}

/** A model that tells of its answers at once, without a stream in between: each part of one takes turns of the event loop. */
export interface ObservableModel extends LanguageModelV4 {
  /** Resolves when the answer begins, with false where the call is to be made with `doStream`. */
  observe(
    options: LanguageModelV4CallOptions,
    cancellation: Cancellation,
    observer: AnswerObserver,
  ): Promise<boolean>;
}

export const isObservable = (model: LanguageModelV4): model is ObservableModel => 'observe' in model;
