import { ById, Field, PageInput, PageOf } from '../../../platform/dto/index.js';
import { CATEGORIES, TYPE_NAMES } from '../types/types.js';

/** What a webhook can be limited to. */
const TOPICS = [...TYPE_NAMES, ...CATEGORIES];
const DISABLED_REASONS = ['gone', 'failing'] as const;

const URL_RULES = { min: 1, max: 2000, format: 'uri', example: 'https://example.com/hooks/atelier' } as const;
const TYPES_EXAMPLE = { optional: true, list: true, example: ['approval.requested'] };

export class ListWebhooks extends PageInput {
  @Field.id(
    'Only those of this organization; absent: your own, and those of all organizations that you administer',
    {
      optional: true,
    },
  )
  organization_id?: string;
}

/** What is sent where. */
class WebhookFields {
  @Field.choice('Types and categories of notifications to send; none: all', TOPICS, TYPES_EXAMPLE)
  types?: string[];

  @Field.text('What it is for', { optional: true, max: 500, example: 'Tells our chat' }) description?: string;
}

export class CreateWebhook extends WebhookFields {
  @Field.id(
    'The organization whose notifications it is sent; absent: that of the key, else those that you get yourself',
    {
      optional: true,
    },
  )
  organization_id?: string;

  @Field.text('Where to: https, without a user name; not a private address', URL_RULES) url: string;
}

export class UpdateWebhook extends WebhookFields {
  @Field.id('The webhook') id: string;

  @Field.text('Where to: https, without a user name; not a private address', { ...URL_RULES, optional: true })
  url?: string;
}

export class RecoverWebhook extends ById({ id: 'The webhook' }) {
  @Field.time('From when on, at most 30 days ago', { example: '2026-11-21T09:30:00.000Z' }) since: string;
}

export class WebhookView {
  @Field.id('The webhook') id: string;

  @Field.id('The organization whose notifications it is sent; null: those of the person whose it is', {
    nullable: true,
  })
  organization_id: string | null;

  @Field.text('Where to', { example: URL_RULES.example }) url: string;

  @Field.text('Types and categories of notifications that are sent; none: all', {
    list: true,
    example: ['approval.requested'],
  })
  types: string[];

  @Field.text('What it is for', { example: 'Tells our chat' }) description: string;
  @Field.boolean('Whether it is sent anything') enabled: boolean;

  @Field.choice(
    'Why not: `gone`: the receiver answered 410; `failing`: every attempt of five days failed',
    DISABLED_REASONS,
    { nullable: true },
  )
  disabled_reason: (typeof DISABLED_REASONS)[number] | null;

  @Field.time('Since when every attempt has failed', { nullable: true }) failing_since: string | null;

  @Field.time('Until when the secret before signs as well', { nullable: true })
  previous_secret_until: string | null;

  @Field.time('When it was made') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
}

export class WebhookWithSecretView extends WebhookView {
  @Field.text(
    'The secret with which receivers verify what comes (Standard Webhooks); it is shown this once',
    {
      example: 'whsec_…',
      secret: true,
    },
  )
  signing_secret: string;
}

export const WebhookPage = PageOf(WebhookView, 'WebhookPage');

export class WebhookAttemptView {
  @Field.id('The attempt') id: string;

  @Field.text('What was sent: `webhook-id`, the same in all attempts', {
    example: 'msg_0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f',
  })
  webhook_id: string;

  @Field.text('Its type', { example: 'approval.requested' }) type: string;
  @Field.boolean('Whether the receiver took it (2xx)') succeeded: boolean;

  @Field.integer('The status that the receiver answered; null: it gave no answer', {
    nullable: true,
    example: 200,
  })
  status: number | null;

  @Field.text('Why it failed', { nullable: true }) reason: string | null;
  @Field.integer('How long it took, in milliseconds', { example: 84 }) duration_ms: number;
  @Field.time('When it was made') created_at: string;

  @Field.time('When the next attempt to send the same is due; null: none is', { nullable: true })
  next_attempt_at: string | null;
}

export const WebhookAttemptPage = PageOf(WebhookAttemptView, 'WebhookAttemptPage');

export class WebhookMessageView {
  @Field.text('What is sent: `webhook-id`', { example: 'msg_0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f' })
  webhook_id: string;
}

export class RecoveredView {
  @Field.integer('How many failed messages are sent again', { example: 3 }) messages: number;
}
