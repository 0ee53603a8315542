import { Controller, Get, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../../platform/access/index.js';
import { Input } from '../../../platform/dto/index.js';
import { Serves } from '../../../platform/openapi/index.js';
import { Streams } from '../../../platform/streams/index.js';
import { ListNotifications, NotificationId, ReadAllNotifications, WatchNotifications } from './inbox.dto.js';
import { InboxService } from './inbox.service.js';

@Controller()
export class InboxController {
  constructor(private readonly inbox: InboxService) {}

  @Serves(InboxService, 'list')
  @Get('/api/notifications')
  list(@Caller() actor: Actor, @Input() input: ListNotifications) {
    return this.inbox.list(actor, input);
  }

  @Serves(InboxService, 'readAll')
  @Post('/api/notifications/read-all')
  readAll(@Caller() actor: Actor, @Input() input: ReadAllNotifications) {
    return this.inbox.readAll(actor, input);
  }

  @Streams(InboxService, 'events')
  @Get('/api/notifications/events')
  events(@Caller() actor: Actor, @Input() input: WatchNotifications) {
    return this.inbox.events(actor, input);
  }

  @Serves(InboxService, 'read')
  @Post('/api/notifications/:id/read')
  read(@Caller() actor: Actor, @Input() input: NotificationId) {
    return this.inbox.read(actor, input);
  }

  @Serves(InboxService, 'unread')
  @Post('/api/notifications/:id/unread')
  unread(@Caller() actor: Actor, @Input() input: NotificationId) {
    return this.inbox.unread(actor, input);
  }

  @Serves(InboxService, 'archive')
  @Post('/api/notifications/:id/archive')
  archive(@Caller() actor: Actor, @Input() input: NotificationId) {
    return this.inbox.archive(actor, input);
  }
}
