import { Controller, Post } from '@nestjs/common';
import { Caller } from '../../platform/access/access.js';
import type { Actor } from '../../platform/access/actor.js';
import { Input } from '../../platform/dto/input.js';
import { Serves } from '../../platform/openapi/serves.js';
import { DuplicateWorkspace } from './duplicate.dto.js';
import { DuplicateService } from './duplicate.service.js';

@Controller()
export class DuplicateController {
  constructor(private readonly duplicates: DuplicateService) {}

  @Serves(DuplicateService, 'duplicate')
  @Post('/api/workspaces/:workspaceId/duplicate')
  duplicate(@Caller() actor: Actor, @Input() input: DuplicateWorkspace) {
    return this.duplicates.duplicate(actor, input);
  }
}
