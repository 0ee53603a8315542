import { Field } from '../../../platform/dto/index.js';

export class RotateSecret {
  @Field.id('The deployment') id: string;
  @Field.id('The trigger, a webhook') trigger_id: string;

  @Field.text('The secret that the sender made, as Stripe and Slack do; absent: a new one is made', {
    min: 8,
    max: 500,
    optional: true,
    secret: true,
    example: 'whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH',
  })
  secret?: string;

  @Field.boolean('Give it a new address instead', { optional: true, default: false }) address?: boolean;
}

export class ClosedWebhookView {
  @Field.id('The trigger') trigger_id: string;
  @Field.id('The deployment that it started') deployment_id: string;
}
