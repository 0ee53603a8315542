import { Module } from '@nestjs/common';
import { ChangesModule } from '../../workspaces/changes/index.js';
import { FilesModule } from '../../workspaces/files/index.js';
import { ModelsModule } from '../models/index.js';
import { AttachmentsService } from './attachments.service.js';
import { AttachmentsStore } from './attachments.store.js';

/** Files that go with messages. */
@Module({
  imports: [FilesModule, ChangesModule, ModelsModule],
  providers: [AttachmentsService, AttachmentsStore],
  exports: [AttachmentsService, AttachmentsStore],
})
export class AttachmentsModule {}
