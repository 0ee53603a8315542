import { Module } from '@nestjs/common';
import { CoreModule } from '../core/index.js';
import { FilesModule } from '../files/index.js';
import { SearchController } from './search.controller.js';
import { SearchService } from './search.service.js';

/** Searching names and texts of a workspace. */
@Module({
  imports: [CoreModule, FilesModule],
  controllers: [SearchController],
  providers: [SearchService],
  exports: [SearchService],
})
export class SearchModule {}
