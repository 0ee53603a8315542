import { Controller, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Streams } from '../../platform/streams/index.js';
import { WatchChanges } from './changes.dto.js';
import { ChangesService } from './changes.service.js';

@Controller()
export class ChangesController {
  constructor(private readonly changes: ChangesService) {}

  @Streams(ChangesService, 'events')
  @Get('/api/workspaces/:workspaceId/events')
  events(@Caller() actor: Actor, @Input() input: WatchChanges) {
    return this.changes.events(actor, input);
  }
}
