import { Controller, Get, Put } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ListModels, ReadModelSettings, UpdateModelSettings } from './models.dto.js';
import { ModelsService } from './models.service.js';

@Controller()
export class ModelsController {
  constructor(private readonly models: ModelsService) {}

  @Serves(ModelsService, 'list')
  @Get('/api/models')
  list(@Caller() actor: Actor, @Input() input: ListModels) {
    return this.models.list(actor, input);
  }

  @Serves(ModelsService, 'readSettings')
  @Get('/api/organizations/:orgId/models')
  readSettings(@Caller() actor: Actor, @Input() input: ReadModelSettings) {
    return this.models.readSettings(actor, input);
  }

  @Serves(ModelsService, 'updateSettings')
  @Put('/api/organizations/:orgId/models')
  updateSettings(@Caller() actor: Actor, @Input() input: UpdateModelSettings) {
    return this.models.updateSettings(actor, input);
  }
}
