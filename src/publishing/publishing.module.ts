import { Module } from '@nestjs/common';
import { ExposureModule } from './exposure/index.js';
import { FileInvitationsModule } from './file-invitations/index.js';
import { FormsModule } from './forms/index.js';
import { ShareModule } from './share/index.js';

/** What people outside see of files. */
@Module({ imports: [ExposureModule, ShareModule, FormsModule, FileInvitationsModule] })
export class PublishingModule {}
