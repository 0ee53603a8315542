import { Controller, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Streams } from '../../platform/streams/index.js';
import { AutomationEventsService } from './automation-events.service.js';
import { WatchAutomationRun, WatchAutomations } from './views/automations.dto.js';

@Controller()
export class AutomationEventsController {
  constructor(private readonly service: AutomationEventsService) {}

  @Streams(AutomationEventsService, 'events')
  @Get('/api/automation/runs/:id/events')
  events(@Caller() actor: Actor, @Input() input: WatchAutomationRun) {
    return this.service.events(actor, input);
  }

  @Streams(AutomationEventsService, 'all')
  @Get('/api/automation/events')
  all(@Caller() actor: Actor, @Input() input: WatchAutomations) {
    return this.service.all(actor, input);
  }
}
