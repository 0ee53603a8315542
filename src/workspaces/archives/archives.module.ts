import { Module } from '@nestjs/common';
import { ChangesModule } from '../changes/index.js';
import { CoreModule } from '../core/index.js';
import { ArchivesController } from './archives.controller.js';
import { ArchivesService } from './archives.service.js';
import { FolderZips } from './folder-zips.js';

/** Folders packed and archives unpacked. */
@Module({
  imports: [CoreModule, ChangesModule],
  controllers: [ArchivesController],
  providers: [ArchivesService, FolderZips],
  exports: [FolderZips],
})
export class ArchivesModule {}
