import { Controller, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ExtractArchive } from './archives.dto.js';
import { ArchivesService } from './archives.service.js';

@Controller()
export class ArchivesController {
  constructor(private readonly archives: ArchivesService) {}

  @Serves(ArchivesService, 'extract')
  @Post('/api/workspaces/:workspaceId/files/extract')
  extract(@Caller() actor: Actor, @Input() input: ExtractArchive) {
    return this.archives.extract(actor, input);
  }
}
