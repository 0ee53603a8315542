import { Field } from '../../../platform/dto/index.js';
import { EMAIL, PASSWORD } from '../../accounts/index.js';
import { LINK_TOKEN } from '../mail/mailed-link.dto.js';

export class VerifyEmail {
  @Field.text('The token in the link that was sent', LINK_TOKEN)
  token: string;
}

export class ChangeEmail {
  @Field.text('The new address; a link is sent there', { ...EMAIL, example: 'ada@lovelace.example' })
  email: string;

  @Field.text('Your password', { ...PASSWORD, min: 0 })
  password: string;
}

export class ConfirmEmailChange {
  @Field.text('The token in the link that was sent', LINK_TOKEN)
  token: string;
}

export class VerifiedView {
  @Field.boolean('Always true')
  verified: true;
}

export class MailSentView {
  @Field.boolean('Always true')
  sent: true;
}
