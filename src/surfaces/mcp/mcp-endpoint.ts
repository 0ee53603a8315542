import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  type McpHttpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server';
import { BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../../platform/access/actor.js';
import { problemOf } from '../../platform/http/problem.js';
import { Log } from '../../platform/log/log.js';
import { McpPrompts } from './mcp-prompts.js';
import { McpResources, RESOURCE_TEMPLATES } from './mcp-resources.js';
import type { McpSession, ToolView } from './mcp-session.js';
import { McpTools } from './mcp-tools.js';

const SERVER = { name: 'atelier', title: 'Atelier', version: '0.1.0' };
const INSTRUCTIONS =
  'Atelier holds workspaces: files, a sandbox that runs code on them, and agents that work in both. Begin with ' +
  'list_workspaces; most tools take a workspace_id. What has no tool of its own is found with actions_search.';

/** Streamable HTTP without sessions: each request is answered by a server of its own, in whichever process it reaches. */
@Injectable()
export class McpEndpoint implements BeforeApplicationShutdown {
  private readonly handler: McpHttpHandler;
  private readonly serve: ReturnType<typeof toNodeHandler>;

  constructor(
    @Inject(McpTools) private readonly tools: McpTools,
    @Inject(McpResources) private readonly resources: McpResources,
    @Inject(McpPrompts) private readonly prompts: McpPrompts,
    @Inject(Log) private readonly log: Log,
  ) {
    const onerror = (error: Error) => this.log.debug({ err: error }, 'MCP request refused');
    this.handler = createMcpHandler(
      ({ authInfo }) => this.serverFor(authInfo?.extra?.session as McpSession),
      // Nothing is announced, so there is nothing to listen for.
      { onerror, maxSubscriptions: 0 },
    );
    this.serve = toNodeHandler(this.handler, {
      onerror: error => this.log.error({ err: error }, 'MCP request failed'),
    });
  }

  /** Answers a request of `actor`, past the framework. */
  async answer(
    actor: Actor,
    view: ToolView,
    { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  ): Promise<void> {
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const session: McpSession = { actor, view, signal: gone.signal };
    const { id: clientId, scopes } = actor.credential;
    const auth = { token: '', clientId, scopes: [...(scopes ?? [])], extra: { session } };
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    await this.serve(Object.assign(request.raw, { auth }), reply.raw as never, request.body);
  }

  /** Streams that are open would keep the process. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.handler.close();
  }

  private serverFor(session: McpSession): Server {
    const { actor, view } = session;
    const server = new Server(SERVER, {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions: INSTRUCTIONS,
    });
    server.setRequestHandler('tools/list', () => ({ tools: this.tools.list(view) }));
    server.setRequestHandler('tools/call', ({ params: { name, arguments: input = {} } }) =>
      this.answering(async () => {
        const result = await this.tools.call(session, name, input);
        if (result) return result;
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${name.slice(0, 64)}`);
      }),
    );
    server.setRequestHandler('resources/list', ({ params }) =>
      this.answering(() => this.resources.list(actor, params?.cursor)),
    );
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: RESOURCE_TEMPLATES }));
    server.setRequestHandler('resources/read', ({ params }) =>
      this.answering(() => this.resources.read(actor, params.uri)),
    );
    server.setRequestHandler('prompts/list', ({ params }) =>
      this.answering(() => this.prompts.list(actor, params?.cursor)),
    );
    server.setRequestHandler('prompts/get', ({ params }) =>
      this.answering(() => this.prompts.get(actor, params.name, params.arguments)),
    );
    return server;
  }

  /** A refusal keeps its sentence; a fault of ours is logged, and told as no more than that. */
  private async answering<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      const problem = problemOf(error);
      if (problem) throw new ProtocolError(ProtocolErrorCode.InvalidParams, problem.detail);
      this.log.error({ err: error }, 'MCP request failed');
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal server error');
    }
  }
}
