import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { clientGone } from '#libs/fastify-hardening/index.js';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { SearchWorkspace } from './search.dto.js';
import { SearchService } from './search.service.js';

@Controller()
export class SearchController {
  constructor(private readonly searches: SearchService) {}

  @Serves(SearchService, 'search')
  @Get('/api/workspaces/:workspaceId/search')
  search(
    @Caller() actor: Actor,
    @Input() input: SearchWorkspace,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.searches.search(actor, input, clientGone(reply));
  }
}
