import { Field } from '../../platform/dto/index.js';
import { MODEL } from '../models/index.js';

const SOURCES = ['provider', 'estimate'] as const;

/** How full the window of a model is, as the next step begins. */
export class ContextView {
  @Field.integer('Tokens of the conversation, instructions and tools included', { example: 18_240 })
  tokens: number;

  @Field.integer('Tokens that the model takes at most, its answer included', { example: 200_000 })
  window: number;

  @Field.choice('Who counted: the provider with the newest step, or we by its size', SOURCES)
  source: (typeof SOURCES)[number];

  @Field.text('The model whose window it is', MODEL) model: string;
  @Field.integer('The step after which it was counted', { example: 4 }) step: number;
}
