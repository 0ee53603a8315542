import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientGone, type EventStream } from '#libs/fastify-hardening/index.js';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { EventStreams, Watches } from '../../platform/streams/index.js';
import type { ToolContext } from './tool-provider.js';
import { RunTool, type ToolRunView } from './tools.dto.js';
import { ToolsService } from './tools.service.js';

type Run = (hooks: Pick<ToolContext, 'signal' | 'onOutput'>) => Promise<ToolRunView>;

/** Runs a tool while its client watches: `tool.output` events as it writes, then `tool.finished`. */
export async function streamTool(stream: EventStream, run: Run): Promise<void> {
  let id = 0;
  let sent = Promise.resolve();
  const send = (event: string, data: unknown) => stream.send([{ id: ++id, event, data }]);
  try {
    // What a client is too slow for it finds in the result.
    const onOutput = (text: string) => {
      if (!stream.isFull) sent = send('tool.output', { text });
    };
    const result = await run({ signal: stream.signal, onOutput });
    await sent;
    await send('tool.finished', result);
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) throw error;
    await sent;
    // The answer has begun, so a status is too late.
    await send('tool.finished', {
      output: problem.detail,
      is_error: true,
      duration_ms: 0,
      new_session: null,
      exit_code: null,
      working_directory: null,
      command_id: null,
    });
  } finally {
    stream.end();
  }
}

@Controller()
export class ToolsController {
  constructor(
    private readonly tools: ToolsService,
    private readonly streams: EventStreams,
    private readonly watches: Watches,
  ) {}

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
