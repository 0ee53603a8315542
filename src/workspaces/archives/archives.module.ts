import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ChangesModule } from '../changes/index.js';
import { CoreModule } from '../core/index.js';
import { ArchivesService } from './archives.service.js';
import { FolderZips } from './folder-zips.js';

/** Folders packed and archives unpacked. */
@Module({
  imports: [CoreModule, ChangesModule],
  controllers: [RoutesOf(ArchivesService)],
  providers: [ArchivesService, FolderZips],
  exports: [FolderZips],
})
export class ArchivesModule {}
