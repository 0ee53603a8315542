import { Field } from '../../platform/http/field.js';

export class ListModels {
  @Field.id('The organization whose settings apply', { optional: true })
  organization_id?: string;
}

export class PriceView {
  @Field.number('USD per million input tokens', { example: 3 })
  input: number;

  @Field.number('USD per million output tokens', { example: 15 })
  output: number;

  @Field.number('USD per million tokens read from the cache', { nullable: true, example: 0.3 })
  cache_read: number | null;

  @Field.number('USD per million tokens written to the cache', { nullable: true, example: 3.75 })
  cache_write: number | null;
}

export class ModelView {
  @Field.text('Name to use as `model`', { example: 'anthropic/claude-sonnet-4-5' })
  id: string;

  @Field.text('Who serves it', { example: 'anthropic' })
  provider: string;

  @Field.text('Its name there', { example: 'claude-sonnet-4-5' })
  name: string;

  @Field.boolean('Whether it can be used')
  enabled: boolean;

  @Field.boolean('Whether it is used when none is named')
  default: boolean;

  @Field.integer('Tokens that it can take in; null: not known', { nullable: true, example: 200000 })
  context_window: number | null;

  @Field.object('Its price; null: not known', () => PriceView, { nullable: true })
  price: PriceView | null;
}

export class ModelsView {
  @Field.object('The models', () => ModelView, { list: true })
  items: ModelView[];

  @Field.text('Always null: the list is short', { nullable: true })
  next_cursor: null;
}
