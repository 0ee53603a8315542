import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { McpHttp, McpHttpError, type MessageStream, type Streams } from '#libs/mcp-http/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Invalid, Problem, translateErrors } from '../../platform/errors/index.js';
import { clientGone } from '../../platform/http/index.js';
import { Log } from '../../platform/log/index.js';
import { EventStreams } from '../../platform/streams/index.js';
import type { McpCall, ToolView } from './call/mcp-call.js';
import { McpServers } from './server/mcp-servers.js';
import { McpCancellations } from './sessions/cancellations.js';
import { McpQuestionsStore } from './sessions/questions.store.js';
import { McpSessionsStore } from './sessions/sessions.store.js';
import { ScopeChallenges } from './tools/scope-challenges.js';
import { VisibleChanges } from './watch/visible-changes.js';

translateErrors(McpHttpError, ({ status, message, headers }) => new Problem(status, message, headers));

const MAX_TEXT = 16_384;

interface Http {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** The transport of MCP, with what the service has: its tools, its sessions in the database, its streams. */
@Injectable()
export class McpEndpoint implements BeforeApplicationShutdown {
  private readonly http: McpHttp<McpCall>;

  constructor(
    host: McpServers,
    changes: VisibleChanges,
    sessions: McpSessionsStore,
    questions: McpQuestionsStore,
    cancellations: McpCancellations,
    streams: EventStreams,
    private readonly scopes: ScopeChallenges,
    log: Log,
  ) {
    const ports = { host, changes, sessions, questions, cancellations, streams: streamsOf(streams), log };
    this.http = new McpHttp(ports);
  }

  async answer(actor: Actor, view: ToolView, http: Http): Promise<void> {
    const { body } = http.request;
    refuseLongTexts(body);
    const call = new HttpCall(actor, view, http.reply);
    await this.scopes.requireEnough(call, body);
    await this.http.answer(call, http);
  }

  /** Streams that are open would keep the process. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.http.close();
  }
}

const streamsOf = (streams: EventStreams): Streams<McpCall> => ({
  reserve: ({ actor }) => streams.reserve(actor),
  start: (http): MessageStream => {
    const stream = streams.start(http as Http);
    return {
      signal: stream.signal,
      send: message => stream.send([{ event: 'message', data: message }]),
      end: () => stream.end(),
    };
  },
});

/** Only calls of tools have long texts; what the SDK does with others, it does several times. Throws Invalid. */
function refuseLongTexts(body: unknown): void {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: unknown };
  if (method === 'tools/call' || typeof params !== 'object' || params === null) return;
  for (const [name, value] of Object.entries(params))
    if (typeof value === 'string' && value.length > MAX_TEXT)
      throw new Invalid(`${name.slice(0, 100)} must have at most ${MAX_TEXT} characters`);
}

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
