import { Controller, Get, Patch } from '@nestjs/common';
import { Caller } from '../../platform/access/access.js';
import type { Actor } from '../../platform/access/actor.js';
import { Input } from '../../platform/dto/input.js';
import { Serves } from '../../platform/openapi/serves.js';
import { WorkspaceId } from '../workspaces/workspaces.dto.js';
import { UpdateFeatures } from './features.dto.js';
import { FeaturesService } from './features.service.js';

const FEATURES = '/api/workspaces/:workspaceId/features';

@Controller()
export class FeaturesController {
  constructor(private readonly features: FeaturesService) {}

  @Serves(FeaturesService, 'read')
  @Get(FEATURES)
  read(@Caller() actor: Actor, @Input() input: WorkspaceId) {
    return this.features.read(actor, input);
  }

  @Serves(FeaturesService, 'update')
  @Patch(FEATURES)
  update(@Caller() actor: Actor, @Input() input: UpdateFeatures) {
    return this.features.update(actor, input);
  }
}
