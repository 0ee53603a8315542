import { Controller, Delete, Get, Patch, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { SendMessage } from './messages.dto.js';
import { MessagesService } from './messages.service.js';
import { EditQueuedMessage, ListQueue, QueuedMessageId } from './queue.dto.js';
import { QueueService } from './queue.service.js';

@Controller()
export class MessagesController {
  constructor(
    private readonly messages: MessagesService,
    private readonly queue: QueueService,
  ) {}

  @Serves(MessagesService, 'send')
  @Post('/api/agent/message')
  send(@Caller() actor: Actor, @Input() input: SendMessage) {
    return this.messages.send(actor, input);
  }

  @Serves(QueueService, 'list')
  @Get('/api/agent/queue')
  list(@Caller() actor: Actor, @Input() input: ListQueue) {
    return this.queue.list(actor, input);
  }

  @Serves(QueueService, 'edit')
  @Patch('/api/agent/queue/:messageId')
  edit(@Caller() actor: Actor, @Input() input: EditQueuedMessage) {
    return this.queue.edit(actor, input);
  }

  @Serves(QueueService, 'withdraw')
  @Delete('/api/agent/queue/:messageId')
  withdraw(@Caller() actor: Actor, @Input() input: QueuedMessageId) {
    return this.queue.withdraw(actor, input);
  }

  @Serves(QueueService, 'steer')
  @Post('/api/agent/queue/:messageId/steer')
  steer(@Caller() actor: Actor, @Input() input: QueuedMessageId) {
    return this.queue.steer(actor, input);
  }
}
