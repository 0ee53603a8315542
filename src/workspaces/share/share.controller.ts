import { Controller, Delete, Get, Patch, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import {
  CreateShareLink,
  ListShareLinks,
  ListWorkspaceShares,
  ShareLinkId,
  UpdateShareLink,
} from './links/share-links.dto.js';
import { ShareLinksService } from './links/share-links.service.js';

@Controller()
export class ShareController {
  constructor(private readonly links: ShareLinksService) {}

  @Serves(ShareLinksService, 'list')
  @Get('/api/share')
  list(@Caller() actor: Actor, @Input() input: ListShareLinks) {
    return this.links.list(actor, input);
  }

  @Serves(ShareLinksService, 'listOfWorkspace')
  @Get('/api/workspaces/:workspaceId/shares')
  listOfWorkspace(@Caller() actor: Actor, @Input() input: ListWorkspaceShares) {
    return this.links.listOfWorkspace(actor, input);
  }

  @Serves(ShareLinksService, 'create')
  @Post('/api/share')
  create(@Caller() actor: Actor, @Input() input: CreateShareLink) {
    return this.links.create(actor, input);
  }

  @Serves(ShareLinksService, 'read')
  @Get('/api/share/:id')
  read(@Caller() actor: Actor, @Input() input: ShareLinkId) {
    return this.links.read(actor, input);
  }

  @Serves(ShareLinksService, 'update')
  @Patch('/api/share/:id')
  update(@Caller() actor: Actor, @Input() input: UpdateShareLink) {
    return this.links.update(actor, input);
  }

  @Serves(ShareLinksService, 'revoke')
  @Delete('/api/share/:id')
  revoke(@Caller() actor: Actor, @Input() input: ShareLinkId) {
    return this.links.revoke(actor, input);
  }
}
