import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Caller } from '../../platform/access/access.js';
import type { Actor } from '../../platform/access/actor.js';
import { Input } from '../../platform/dto/input.js';
import { clientGone } from '../../platform/http/client-gone.js';
import { Serves } from '../../platform/openapi/serves.js';
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
