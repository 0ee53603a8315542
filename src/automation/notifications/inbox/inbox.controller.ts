import { Controller, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../../platform/access/index.js';
import { Input } from '../../../platform/dto/index.js';
import { Streams } from '../../../platform/streams/index.js';
import { WatchNotifications } from './inbox.dto.js';
import { InboxService } from './inbox.service.js';

@Controller()
export class InboxController {
  constructor(private readonly inbox: InboxService) {}

  @Streams(InboxService, 'events')
  @Get('/api/notifications/events')
  events(@Caller() actor: Actor, @Input() input: WatchNotifications) {
    return this.inbox.events(actor, input);
  }
}
