import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { clientGone } from '../../platform/http/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { EventStreams, Watches } from '../../platform/streams/index.js';
import { streamTool } from './stream-tool.js';
import { ListAgentTools, RunTool } from './tools.dto.js';
import { ToolsService } from './tools.service.js';

@Controller()
export class ToolsController {
  constructor(
    private readonly tools: ToolsService,
    private readonly streams: EventStreams,
    private readonly watches: Watches,
  ) {}

  @Serves(ToolsService, 'list')
  @Get('/api/workspaces/:workspaceId/tools')
  list(@Caller() actor: Actor, @Input() input: ListAgentTools) {
    return this.tools.list(actor, input);
  }

  @Serves(ToolsService, 'run')
  @Post('/api/workspaces/:workspaceId/tools/:toolName')
  async run(
    @Caller() actor: Actor,
    @Input() input: RunTool,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const require = () => this.tools.run(actor, input);
    const ready = await require();
    if (request.headers.accept?.includes('text/event-stream')) {
      const stream = this.streams.start({ request, reply });
      const access = this.watches.accessOf({ actor, workspaceId: input.workspace_id, require });
      access.signal.addEventListener('abort', () => stream.end(), { once: true });
      await streamTool(stream, ready).finally(() => access.close());
    } else await reply.send(await ready({ signal: clientGone(reply) }));
  }
}
