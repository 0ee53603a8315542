import { Controller } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../../platform/access/index.js';
import { InvitationRoutes } from '../acceptance-pages/index.js';
import { Fronts } from '../page-sessions/index.js';
import { InvitationPages } from './invitation-pages.js';

/** Where the link of an invitation into an organization leads: who invites whom, and a way in for each who may open it. */
@Public()
@ApiExcludeController()
@Controller('invitations/:token')
export class InvitationPagesController extends InvitationRoutes {
  constructor(fronts: Fronts, pages: InvitationPages) {
    super('invitations', fronts, pages);
  }
}
