import { Controller, Delete, Get, Patch, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { CreateKey, KeyId, ListKeys, RotateKey, UpdateKey } from './keys.dto.js';
import { KeysService } from './keys.service.js';

@Controller()
export class KeysController {
  constructor(private readonly keys: KeysService) {}

  @Serves(KeysService, 'list')
  @Get('/api/keys')
  list(@Caller() actor: Actor, @Input() input: ListKeys) {
    return this.keys.list(actor, input);
  }

  @Serves(KeysService, 'create')
  @Post('/api/keys')
  create(@Caller() actor: Actor, @Input() input: CreateKey) {
    return this.keys.create(actor, input);
  }

  @Serves(KeysService, 'read')
  @Get('/api/keys/:id')
  read(@Caller() actor: Actor, @Input() input: KeyId) {
    return this.keys.read(actor, input);
  }

  @Serves(KeysService, 'update')
  @Patch('/api/keys/:id')
  update(@Caller() actor: Actor, @Input() input: UpdateKey) {
    return this.keys.update(actor, input);
  }

  @Serves(KeysService, 'rotate')
  @Post('/api/keys/:id/rotate')
  rotate(@Caller() actor: Actor, @Input() input: RotateKey) {
    return this.keys.rotate(actor, input);
  }

  @Serves(KeysService, 'revoke')
  @Delete('/api/keys/:id')
  revoke(@Caller() actor: Actor, @Input() input: KeyId) {
    return this.keys.revoke(actor, input);
  }
}
