import { Field, PageInput, PageOf } from '../../platform/dto/index.js';
import { DELIVERIES } from './messages.dto.js';

export class ListQueue extends PageInput {
  @Field.id('The chat')
  chat_id: string;
}

export class QueuedMessageId {
  @Field.id('The message')
  message_id: string;
}

export class EditQueuedMessage extends QueuedMessageId {
  @Field.text('Its new text', {
    min: 1,
    max: 1_000_000,
    pattern: /\S/,
    patternHint: 'must not be blank',
    optional: true,
    shown: true,
    example: 'run date',
  })
  message?: string;

  @Field.integer('Its new place: how many runs of the chat are to come first; 1 is next', {
    min: 1,
    max: 100_000,
    optional: true,
    example: 1,
  })
  position?: number;
}

export class QueuedMessageView {
  @Field.id('The message')
  message_id: string;

  @Field.id('Its run')
  call_id: string;

  @Field.id('Its chat')
  chat_id: string;

  @Field.text('Its text', { max: 1_000_000, example: 'run date' })
  message: string;

  @Field.choice('How it is delivered; steer: it enters the run in flight at its next step', DELIVERIES)
  delivery: string;

  @Field.integer('How many runs of the chat come first; 0: it is about to begin', { example: 1 })
  position: number;

  @Field.time('When it was accepted')
  created_at: string;
}

export const QueuedMessagePage = PageOf(QueuedMessageView, 'QueuedMessagePage');

export class WithdrawnView {
  @Field.id('The message')
  message_id: string;

  @Field.boolean('Always true')
  withdrawn: boolean;
}
