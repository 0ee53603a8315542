import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { ArchivesModule } from '../archives/index.js';
import { ChangesModule } from '../changes/index.js';
import { CoreModule } from '../core/index.js';
import { SandboxesModule } from '../sandboxes/index.js';
import { DocumentTexts } from './document-texts.js';
import { FileFindingService } from './file-finding.service.js';
import { FileTreeService } from './file-tree.service.js';
import { FileTrees } from './file-trees.js';
import { FileWritesService } from './file-writes.service.js';
import { FilesController } from './files.controller.js';
import { FilesService } from './files.service.js';
import { FilesTogetherService } from './files-together.service.js';
import { TreeScan } from './tree-scan.js';

/** Files and folders of a workspace. */
@Module({
  imports: [CoreModule, ChangesModule, ArchivesModule, SandboxesModule],
  controllers: [
    RoutesOf(FileTreeService),
    RoutesOf(FilesService),
    RoutesOf(FilesTogetherService),

    FilesController,
  ],
  providers: [
    FileTreeService,
    FileWritesService,
    FilesService,
    FilesTogetherService,
    FileFindingService,
    DocumentTexts,
    FileTrees,
    TreeScan,
  ],
  exports: [TreeScan, FilesService, FileWritesService],
})
export class FilesModule {}
