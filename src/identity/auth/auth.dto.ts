import { Field } from '../../platform/dto/index.js';
import { EMAIL, PASSWORD, PERSON_NAME, UserView } from '../accounts/index.js';

export class Register {
  @Field.text('E-mail address', EMAIL)
  email: string;

  @Field.text('Password', PASSWORD)
  password: string;

  @Field.text('Name shown to others', PERSON_NAME)
  name: string;

  @Field.text(
    'For the first account of an installation: the token that the service logged at its first start',
    {
      optional: true,
      max: 200,
      example: 'q3Vn…',
    },
  )
  setup_token?: string;
}

export class Login {
  @Field.text('E-mail address', { ...EMAIL, format: undefined })
  email: string;

  @Field.text('Password', { ...PASSWORD, min: 0 })
  password: string;
}

export class RefreshTokenInput {
  @Field.text('The refresh token, usable once', { max: 200, example: 'Zr0…' })
  refresh_token: string;
}

export class Logout {
  @Field.text('A refresh token of the session to end; absent: the session that asks', {
    max: 200,
    optional: true,
    example: 'Zr0…',
  })
  refresh_token?: string;
}

export class TokensView {
  @Field.text('Send as `Authorization: Bearer`', { max: 4000, example: 'eyJhbGciOiJIUzI1NiJ9…' })
  access_token: string;

  @Field.text('Trade it for new tokens at /api/auth/refresh before the access token ends', {
    example: 'Zr0…',
  })
  refresh_token: string;

  @Field.choice('Always Bearer', ['Bearer'])
  token_type: string;

  @Field.integer('Life of the access token, in seconds', { example: 900 })
  expires_in: number;

  @Field.object('Who signed in', () => UserView)
  user: UserView;
}

export class SignedOutView {
  @Field.boolean('Always true')
  signed_out: boolean;
}
