import { Field } from '../../../platform/dto/index.js';

const ENDPOINT = { min: 1, max: 2000, format: 'uri', example: 'https://push.example.com/send/abc' } as const;
const BASE64URL = { pattern: /^[A-Za-z0-9_-]+=*$/, patternHint: 'must be base64url' };

export class PushKeyView {
  @Field.text('`applicationServerKey` for `pushManager.subscribe`; null: there is no push here', {
    nullable: true,
    example: 'BNbxC6tW…',
  })
  key: string | null;

  @Field.text('Why there is no push', { nullable: true }) reason: string | null;
}

export class PushKeys {
  @Field.text('The public key of the browser', {
    max: 200,
    ...BASE64URL,
    example: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  })
  p256dh: string;

  @Field.text('The secret of the browser', {
    max: 50,
    ...BASE64URL,
    secret: true,
    example: 'BTBZMqHH6r4Tts7J_aSIgg',
  })
  auth: string;
}

/** As `PushSubscription.toJSON()` of a browser has it. */
export class CreatePushSubscription {
  @Field.text('Where to send', ENDPOINT) endpoint: string;
  @Field.object('What messages are encrypted with', () => PushKeys) keys: PushKeys;

  @Field.integer('What the browser says of its end; it is not needed', {
    optional: true,
    nullable: true,
    min: 0,
    example: 0,
  })
  expirationTime?: number | null;
}

export class DeletePushSubscription {
  @Field.text('Where it is sent to', ENDPOINT) endpoint: string;
}

export class PushSubscriptionView {
  @Field.id('The subscription') id: string;
  @Field.text('Where it is sent to', { example: ENDPOINT.example }) endpoint: string;
}
