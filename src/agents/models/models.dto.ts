import { OrganizationId } from '../../identity/organizations/index.js';
import { Field } from '../../platform/dto/index.js';
import { NEW_MODELS } from './model-settings.store.js';

export const MODEL = { max: 200, example: 'atelier/demo' };

export class ListModels {
  @Field.id("The organization whose settings apply; absent: the credential's, else the caller's first", {
    optional: true,
  })
  organization_id?: string;
}

export class PriceView {
  @Field.number('USD per million input tokens', { example: 3 }) input: number;
  @Field.number('USD per million output tokens', { example: 15 }) output: number;

  @Field.number('USD per million tokens read from the cache', { nullable: true, example: 0.3 })
  cache_read: number | null;

  @Field.number('USD per million tokens written to the cache', { nullable: true, example: 3.75 })
  cache_write: number | null;
}

export class ModelView {
  @Field.text('Name to use as `model`', { example: 'anthropic/claude-sonnet-4-5' }) id: string;
  @Field.text('Who serves it', { example: 'anthropic' }) provider: string;
  @Field.text('Its name there', { example: 'claude-sonnet-4-5' }) name: string;
  @Field.boolean('Whether the organization can use it') enabled: boolean;
  @Field.boolean('Whether it is used when none is named') default: boolean;

  @Field.integer('Tokens that it can take in; null: not known', { nullable: true, example: 200000 })
  context_window: number | null;

  @Field.choice('What it takes as attachments beside text files', ['image', 'pdf'], {
    list: true,
    example: ['image', 'pdf'],
  })
  input: string[];

  @Field.object('Its price; null: not known', () => PriceView, { nullable: true }) price: PriceView | null;

  @Field.text('Why it cannot be used', {
    optional: true,
    example: 'the model "openai/gpt-6-astra" is not enabled for this organization, which an admin can change',
  })
  reason?: string;
}

export class ModelsView {
  @Field.object('The models', () => ModelView, { list: true }) items: ModelView[];
  @Field.text('Always null: the list is short', { nullable: true }) next_cursor: null;
}

const MODEL_ID = { min: 1, max: 200 };
const FALLBACK_MEANING =
  'Models that are asked, in this order, when the one chosen is overloaded, out of reach or out of credit, where a message names none';
const NEW_MODELS_MEANING =
  'Whether listed models that appear later are enabled; one that a provider has but that is not listed is used only where `enabled` names it';

export class UpdateModelSettings extends OrganizationId {
  @Field.text('The models to use; all other known ones are refused', {
    ...MODEL_ID,
    list: true,
    maxItems: 1000,
    example: ['atelier/demo'],
  })
  enabled: string[];

  @Field.text("Used when none is named, one of `enabled`; null: the installation's, else the first enabled", {
    ...MODEL_ID,
    optional: true,
    nullable: true,
    example: 'atelier/demo',
  })
  default?: string | null;

  @Field.text(`${FALLBACK_MEANING}; each one of \`enabled\``, {
    ...MODEL_ID,
    optional: true,
    list: true,
    maxItems: 5,
    example: ['atelier/demo'],
  })
  fallback?: string[];

  @Field.choice(NEW_MODELS_MEANING, NEW_MODELS, { optional: true, default: 'disabled' })
  new_models?: (typeof NEW_MODELS)[number];
}

export class ModelSettingsView {
  @Field.text('The models that can be named in `model`', {
    ...MODEL_ID,
    list: true,
    example: ['atelier/demo'],
  })
  enabled: string[];

  @Field.text('The other known ones', { ...MODEL_ID, list: true, example: [] }) disabled: string[];

  @Field.text("Used when none is named; null: the installation's, else the first enabled", {
    ...MODEL_ID,
    nullable: true,
    example: 'atelier/demo',
  })
  default: string | null;

  @Field.text(FALLBACK_MEANING, { ...MODEL_ID, list: true, example: ['atelier/demo'] }) fallback: string[];
  @Field.choice(NEW_MODELS_MEANING, NEW_MODELS) new_models: (typeof NEW_MODELS)[number];
}
