import { Controller, Get, Post } from '@nestjs/common';
import { type Actor, OptionalCaller, Public } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Documents } from '../../platform/openapi/index.js';
import { AcceptanceService } from './acceptance.service.js';
import {
  AcceptedView,
  AcceptInvitation,
  DeclinedView,
  InvitationPreview,
  InvitationToken,
} from './invitations.dto.js';

const BY_TOKEN = '/api/invitations/:token';
const OVER = { 409: 'It was accepted or declined already', 410: 'It has expired, or was withdrawn' };

@Controller()
export class InvitationsController {
  constructor(private readonly acceptance: AcceptanceService) {}

  @Documents({
    name: 'invitation_preview',
    summary: 'Preview an invitation by its link',
    input: InvitationToken,
    output: InvitationPreview,
  })
  @Public()
  @Get(BY_TOKEN)
  preview(@Input() input: InvitationToken): Promise<InvitationPreview> {
    return this.acceptance.preview(input);
  }

  @Documents({
    name: 'invitation_accept',
    summary: 'Accept an invitation, signed in or by making an account',
    input: AcceptInvitation,
    output: AcceptedView,
    refuses: { ...OVER, 403: 'It is for another address, or the address has an account to sign in with' },
  })
  @Public({ orSignedIn: true })
  @Post(`${BY_TOKEN}/accept`)
  accept(
    @OptionalCaller() actor: Actor | undefined,
    @Input() input: AcceptInvitation,
  ): Promise<AcceptedView> {
    return this.acceptance.accept(actor, input);
  }

  @Documents({
    name: 'invitation_decline',
    summary: 'Decline an invitation',
    input: InvitationToken,
    output: DeclinedView,
    refuses: OVER,
  })
  @Public()
  @Post(`${BY_TOKEN}/decline`)
  decline(@Input() input: InvitationToken): Promise<DeclinedView> {
    return this.acceptance.decline(input);
  }
}
