import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { clientGone } from '../../platform/http/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { EventStreams } from '../../platform/streams/index.js';
import { streamTool } from './stream-tool.js';
import { RunTool } from './tools.dto.js';
import { ToolsService } from './tools.service.js';

@Controller()
export class ToolsController {
  constructor(
    private readonly tools: ToolsService,
    private readonly streams: EventStreams,
  ) {}

  @Serves(ToolsService, 'run')
  @Post('/api/workspaces/:workspaceId/tools/:toolName')
  async run(
    @Caller() actor: Actor,
    @Input() input: RunTool,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const ready = await this.tools.run(actor, input);
    if (request.headers.accept?.includes('text/event-stream'))
      await streamTool(this.streams.start({ request, reply }), ready);
    else await reply.send(await ready({ signal: clientGone(reply) }));
  }
}
