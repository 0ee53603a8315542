import { Field } from '../../platform/dto/index.js';
import { EMAIL, PASSWORD, PERSON_NAME, UserView } from '../accounts/index.js';

export class Register {
  @Field.text('E-mail address', EMAIL) email: string;
  @Field.text('Password', PASSWORD) password: string;
  @Field.text('Name shown to others', PERSON_NAME) name: string;

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
  @Field.text('E-mail address', { ...EMAIL, format: undefined }) email: string;
  @Field.text('Password', { ...PASSWORD, min: 0 }) password: string;
}

export class RefreshTokenInput {
  @Field.text('The refresh token, usable once', { max: 200, example: 'Zr0…' }) refresh_token: string;
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

  @Field.choice('Always Bearer', ['Bearer']) token_type: string;
  @Field.integer('Life of the access token, in seconds', { example: 900 }) expires_in: number;
  @Field.object('Who signed in', () => UserView) user: UserView;
}

export class SignedOutView {
  @Field.boolean('Always true') signed_out: boolean;
}

const LINK_TOKEN = { min: 1, max: 200, example: 'b4Xy…' };

export class ChangedView {
  @Field.boolean('Always true') changed: true;
}

export class ChangePassword {
  @Field.text('The password as it is', { ...PASSWORD, min: 0 }) current_password: string;

  @Field.text('The password as it shall be', { ...PASSWORD, example: 'staple battery horse' })
  new_password: string;
}

export class RequestPasswordReset {
  @Field.text('E-mail address of the account', EMAIL) email: string;
}

export class ConfirmPasswordReset {
  @Field.text('The token in the link that was sent', LINK_TOKEN) token: string;
  @Field.text('The new password', { ...PASSWORD, example: 'staple battery horse' }) new_password: string;
}

export class RequestedView {
  @Field.boolean('Always true: the answer does not tell whether there is such an account') requested: true;
}

export class VerifyEmail {
  @Field.text('The token in the link that was sent', LINK_TOKEN) token: string;
}

export class ChangeEmail {
  @Field.text('The new address; a link is sent there', { ...EMAIL, example: 'ada@lovelace.example' })
  email: string;

  @Field.text('Your password', { ...PASSWORD, min: 0 }) password: string;
}

export class ConfirmEmailChange {
  @Field.text('The token in the link that was sent', LINK_TOKEN) token: string;
}

export class VerifiedView {
  @Field.boolean('Always true') verified: true;
}

export class MailSentView {
  @Field.boolean('Always true') sent: true;
}
