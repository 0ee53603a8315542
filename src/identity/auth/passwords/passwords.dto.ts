import { Field } from '../../../platform/dto/index.js';
import { EMAIL, PASSWORD } from '../../accounts/index.js';
import { LINK_TOKEN } from '../mail/mailed-link.dto.js';

export class ChangePassword {
  @Field.text('The password as it is', { ...PASSWORD, min: 0 })
  current_password: string;

  @Field.text('The password as it shall be', { ...PASSWORD, example: 'staple battery horse' })
  new_password: string;
}

export class RequestPasswordReset {
  @Field.text('E-mail address of the account', EMAIL)
  email: string;
}

export class ConfirmPasswordReset {
  @Field.text('The token in the link that was sent', LINK_TOKEN)
  token: string;

  @Field.text('The new password', { ...PASSWORD, example: 'staple battery horse' })
  new_password: string;
}

export class RequestedView {
  @Field.boolean('Always true: the answer does not tell whether there is such an account')
  requested: true;
}
