import { Controller, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
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
