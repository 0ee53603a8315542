import { Controller, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
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
