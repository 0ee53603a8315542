import { Module } from '@nestjs/common';
import { CredentialsModule } from '../../identity/credentials/index.js';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { ModelsModule } from '../models/index.js';
import { PlansModule } from '../plans/index.js';
import { SubagentsModule } from '../subagents/index.js';
import { ChatSummariesStore } from './chat-summaries.store.js';
import { ChatsService } from './chats.service.js';
import { ChatsStore } from './chats.store.js';
import { Compactor } from './compactor.js';
import { MessagesStore } from './messages.store.js';

/** Chats, and what was said in them. */
@Module({
  imports: [CredentialsModule, OrganizationsModule, CoreModule, ModelsModule, PlansModule, SubagentsModule],
  controllers: [RoutesOf(ChatsService)],
  providers: [ChatSummariesStore, ChatsService, ChatsStore, Compactor, MessagesStore],
  exports: [ChatSummariesStore, ChatsService, ChatsStore, Compactor, MessagesStore],
})
export class ChatsModule {}
