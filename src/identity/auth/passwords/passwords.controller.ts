import { Controller, Ip, Post } from '@nestjs/common';
import { type Actor, Caller, Public } from '../../../platform/access/index.js';
import { Input } from '../../../platform/dto/index.js';
import { Documents } from '../../../platform/openapi/index.js';
import { ChangedView } from '../mail/mailed-link.dto.js';
import { PasswordResetService } from './password-reset.service.js';
import {
  ChangePassword,
  ConfirmPasswordReset,
  RequestedView,
  RequestPasswordReset,
} from './passwords.dto.js';
import { PasswordsService } from './passwords.service.js';

@Controller()
export class PasswordsController {
  constructor(
    private readonly passwords: PasswordsService,
    private readonly resets: PasswordResetService,
  ) {}

  @Documents({
    name: 'password_change',
    summary: 'Change your password, and sign out everywhere else',
    input: ChangePassword,
    output: ChangedView,
    commitsAnswer: true,
    sessionOnly: true,
    refuses: { 403: 'The current password is wrong', 429: 'Too many wrong passwords from this address' },
  })
  @Post('/api/auth/password')
  async change(
    @Caller() actor: Actor,
    @Input() { current_password, new_password }: ChangePassword,
    @Ip() address: string,
  ): Promise<ChangedView> {
    return this.passwords.change(actor, current_password, new_password, address);
  }

  @Documents({
    name: 'password_reset_request',
    summary: 'Send a link for a new password to the address, if it has an account',
    input: RequestPasswordReset,
    output: RequestedView,
    refuses: { 429: 'Too many requests from this address', 503: 'The installation sends no mail' },
  })
  @Public()
  @Post('/api/auth/password/reset')
  async requestReset(
    @Input() { email }: RequestPasswordReset,
    @Ip() address: string,
  ): Promise<RequestedView> {
    await this.resets.request(email, address);
    return { requested: true };
  }

  @Documents({
    name: 'password_reset_confirm',
    summary: 'Choose a new password with a link that was sent; ends all sessions',
    input: ConfirmPasswordReset,
    output: ChangedView,
    refuses: { 410: 'The link was used, has expired or is unknown', 429: 'Too many tries from this address' },
  })
  @Public()
  @Post('/api/auth/password/reset/confirm')
  async confirmReset(
    @Input() { token, new_password }: ConfirmPasswordReset,
    @Ip() address: string,
  ): Promise<ChangedView> {
    await this.resets.confirm(token, new_password, address);
    return { changed: true };
  }
}
