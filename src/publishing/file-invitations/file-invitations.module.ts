import { Module } from '@nestjs/common';
import { AuthModule } from '../../identity/auth/index.js';
import { InvitationsModule } from '../../identity/invitations/index.js';
import { PageSessionsModule } from '../../identity/page-sessions/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { ExposureModule } from '../exposure/index.js';
import { FileInvitationsController } from './file-invitations.controller.js';
import { FileInvitationsService } from './file-invitations.service.js';
import { FileInvitationsStore } from './file-invitations.store.js';
import { InvitationMail } from './invitation-mail.js';
import { FileInvitationPagesController } from './invitation-pages.controller.js';
import { InvitedFilesService } from './invited-files.service.js';

/** Files and folders shared with one person, who becomes a member of nothing. */
@Module({
  imports: [AuthModule, InvitationsModule, PageSessionsModule, CoreModule, ExposureModule],
  controllers: [
    RoutesOf(FileInvitationsService),
    RoutesOf(InvitedFilesService),
    FileInvitationsController,
    FileInvitationPagesController,
  ],
  providers: [FileInvitationsService, FileInvitationsStore, InvitationMail, InvitedFilesService],
})
export class FileInvitationsModule {}
