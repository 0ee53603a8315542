import { Controller, Delete, Get, Patch, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ChatId, CreateChat, ListChats, ListMessages, UpdateChat } from './chats.dto.js';
import { ChatsService } from './chats.service.js';

@Controller()
export class ChatsController {
  constructor(private readonly chats: ChatsService) {}

  @Serves(ChatsService, 'create')
  @Post('/api/agent')
  create(@Caller() actor: Actor, @Input() input: CreateChat) {
    return this.chats.create(actor, input);
  }

  @Serves(ChatsService, 'list')
  @Get('/api/chats')
  list(@Caller() actor: Actor, @Input() input: ListChats) {
    return this.chats.list(actor, input);
  }

  @Serves(ChatsService, 'read')
  @Get('/api/chats/:id')
  read(@Caller() actor: Actor, @Input() input: ChatId) {
    return this.chats.read(actor, input);
  }

  @Serves(ChatsService, 'listMessages')
  @Get('/api/chats/:id/messages')
  listMessages(@Caller() actor: Actor, @Input() input: ListMessages) {
    return this.chats.listMessages(actor, input);
  }

  @Serves(ChatsService, 'update')
  @Patch('/api/chats/:id')
  update(@Caller() actor: Actor, @Input() input: UpdateChat) {
    return this.chats.update(actor, input);
  }

  @Serves(ChatsService, 'delete')
  @Delete('/api/chats/:id')
  delete(@Caller() actor: Actor, @Input() input: ChatId) {
    return this.chats.delete(actor, input);
  }
}
