import { Controller, Get, Patch } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { WorkspaceId } from '../core/index.js';
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
