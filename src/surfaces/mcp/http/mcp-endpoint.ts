import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../../../platform/access/index.js';
import { Invalid } from '../../../platform/errors/index.js';
import { clientGone } from '../../../platform/http/index.js';
import { Log } from '../../../platform/log/index.js';
import type { McpCall, ToolView } from '../call/mcp-call.js';
import { McpServers } from '../server/mcp-servers.js';
import { callOf } from '../server/request-memory.js';
import { ScopeChallenges } from '../tools/scope-challenges.js';
import { takeOver } from './exchange.js';
import { Listening } from './listening.js';
import { isOfSessions } from './revision.js';
import { SessionEndpoint } from './session-endpoint.js';
import { Shortcut } from './shortcut.js';

const MAX_TEXT = 16_384;

/** Streamable HTTP: each request is answered by a server of its own, in whichever process it reaches. */
@Injectable()
export class McpEndpoint implements BeforeApplicationShutdown {
  private readonly handler: McpHttpHandler;
  private readonly serve: ReturnType<typeof toNodeHandler>;

  constructor(
    servers: McpServers,
    private readonly scopes: ScopeChallenges,
    private readonly shortcut: Shortcut,
    private readonly sessions: SessionEndpoint,
    private readonly listening: Listening,
    private readonly log: Log,
  ) {
    this.handler = createMcpHandler(({ authInfo }) => servers.of(callOf(authInfo) as McpCall), {
      legacy: 'reject',
      onerror: error => this.log.debug({ err: error }, 'MCP request refused'),
    });
    this.serve = toNodeHandler(this.handler, {
      onerror: error => this.log.error({ err: error }, 'MCP request failed'),
    });
  }

  /** Answers a request of `actor`: as the revision has it that the client speaks. */
  async answer(
    actor: Actor,
    view: ToolView,
    { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  ): Promise<void> {
    refuseLongTexts(request.body);
    const call = new HttpCall(actor, view, reply);
    await this.scopes.requireEnough(call, request.body);
    const answer = await this.shortcut.answer(call, request);
    if (answer === null) {
      await reply.status(202).send();
      return;
    }
    if (answer !== undefined) {
      await reply.header('content-type', 'application/json').send(answer);
      return;
    }
    if (isOfSessions(request)) return this.sessions.answer(call, { request, reply });
    if (isListening(request.body)) return this.listening.answer(call, request, reply);
    const exchange = takeOver(call, request, reply);
    await this.serve(exchange.request, exchange.response as never, exchange.body);
  }

  /** Streams that are open would keep the process. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.handler.close();
  }
}

/** Only calls of tools have long texts; what the SDK does with others, it does several times. Throws Invalid. */
function refuseLongTexts(body: unknown): void {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: unknown };
  if (method === 'tools/call' || typeof params !== 'object' || params === null) return;
  for (const [name, value] of Object.entries(params))
    if (typeof value === 'string' && value.length > MAX_TEXT)
      throw new Invalid(`${name.slice(0, 100)} must have at most ${MAX_TEXT} characters`);
}

const isListening = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'method' in body && body.method === 'subscriptions/listen';

/** A call by HTTP. Most are answered before anybody asks whether their client is still there. */
class HttpCall implements McpCall {
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
