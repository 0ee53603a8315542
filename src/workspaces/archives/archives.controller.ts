import { Controller, Post } from '@nestjs/common';
import { Caller } from '../../platform/access/access.js';
import type { Actor } from '../../platform/access/actor.js';
import { Input } from '../../platform/dto/input.js';
import { Serves } from '../../platform/openapi/serves.js';
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
