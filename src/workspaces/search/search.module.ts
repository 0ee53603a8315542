import { Module } from '@nestjs/common';
import { CoreModule } from '../core/index.js';
import { SandboxesModule } from '../sandboxes/index.js';
import { SearchController } from './search.controller.js';
import { SearchService } from './search.service.js';
import { TreeScan } from './tree-scan.js';

/** Searching names and texts of a workspace. */
@Module({
  imports: [CoreModule, SandboxesModule],
  controllers: [SearchController],
  providers: [SearchService, TreeScan],
  exports: [SearchService],
})
export class SearchModule {}
