import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ArchivesModule } from '../archives/index.js';
import { ChangesModule } from '../changes/index.js';
import { CoreModule } from '../core/index.js';
import { FileTreeService } from './file-tree.service.js';
import { FileWritesService } from './file-writes.service.js';
import { FilesController } from './files.controller.js';
import { FilesService } from './files.service.js';

/** Files and folders of a workspace. */
@Module({
  imports: [CoreModule, ChangesModule, ArchivesModule],
  controllers: [RoutesOf(FileTreeService), RoutesOf(FilesService), FilesController],
  providers: [FileTreeService, FileWritesService, FilesService],
  exports: [FilesService, FileWritesService],
})
export class FilesModule {}
