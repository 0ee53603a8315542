import { Module } from '@nestjs/common';
import { BillingModule } from '../../identity/billing/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { AttachmentsModule } from '../attachments/index.js';
import { ChatsModule } from '../chats/index.js';
import { ModelsModule } from '../models/index.js';
import { RunsModule } from '../runs/index.js';
import { SubagentsModule } from '../subagents/index.js';
import { Deliveries } from './deliveries.js';
import { MessagesService } from './messages.service.js';
import { QueueService } from './queue.service.js';
import { UnattendedRuns } from './unattended-runs.js';

/** Messages that people and programs send, and those that wait. */
@Module({
  imports: [BillingModule, ModelsModule, SubagentsModule, AttachmentsModule, ChatsModule, RunsModule],
  controllers: [RoutesOf(MessagesService), RoutesOf(QueueService)],
  providers: [Deliveries, MessagesService, QueueService, UnattendedRuns],
  exports: [UnattendedRuns],
})
export class MessagesModule {}
