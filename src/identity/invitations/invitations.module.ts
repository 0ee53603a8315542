import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { AuthModule } from '../auth/index.js';
import { OAuthModule } from '../oauth/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { PageSessionsModule } from '../page-sessions/index.js';
import { AcceptanceService } from './acceptance.service.js';
import { InvitationLetter } from './invitation-letter.js';
import { InvitationPagesController } from './invitation-pages.controller.js';
import { InvitationsController } from './invitations.controller.js';
import { InvitationsService } from './invitations.service.js';
import { InvitationsStore } from './invitations.store.js';
import { MailAllowance } from './mail-allowance.js';

/** Invitations into organizations: sent by mail, accepted at a page or through the API. */
@Module({
  imports: [AuthModule, OAuthModule, OrganizationsModule, PageSessionsModule],
  controllers: [InvitationsController, RoutesOf(InvitationsService), InvitationPagesController],
  providers: [InvitationsService, InvitationsStore, InvitationLetter, MailAllowance, AcceptanceService],
  exports: [MailAllowance],
})
export class InvitationsModule {}
