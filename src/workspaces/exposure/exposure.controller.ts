import { Controller, Get } from '@nestjs/common';
import { Caller } from '../../platform/access/access.js';
import type { Actor } from '../../platform/access/actor.js';
import { Input } from '../../platform/dto/input.js';
import { Serves } from '../../platform/openapi/serves.js';
import { ListExposed } from './exposure.dto.js';
import { ExposureService } from './exposure.service.js';

@Controller()
export class ExposureController {
  constructor(private readonly exposure: ExposureService) {}

  @Serves(ExposureService, 'list')
  @Get('/api/share/exposed')
  exposed(@Caller() actor: Actor, @Input() input: ListExposed) {
    return this.exposure.list(actor, input);
  }
}
