import type { FastifyReply } from 'fastify';
import type { Actor } from '../../../platform/access/index.js';
import { clientGone } from '../../../platform/http/index.js';
import type { McpCall, ToolView } from './mcp-call.js';

/** A call by HTTP. Most are answered before anybody asks whether their client is still there. */
export class HttpCall implements McpCall {
  private gone: AbortSignal | undefined;

  constructor(
    readonly actor: Actor,
    readonly view: ToolView,
    private readonly reply: FastifyReply,
  ) {}

  get signal(): AbortSignal {
    this.gone ??= clientGone(this.reply);
    return this.gone;
  }
}
