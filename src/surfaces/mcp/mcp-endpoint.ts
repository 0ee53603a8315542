import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { McpHttp, McpHttpError, type MessageStream, type Streams } from '#libs/mcp-http/index.js';
import { Problem, translateErrors } from '../../platform/errors/index.js';
import { Log } from '../../platform/log/index.js';
import { EventStreams } from '../../platform/streams/index.js';
import type { McpCall } from './call/mcp-call.js';
import { McpServers } from './server/mcp-servers.js';
import { McpCancellations, McpQuestionsStore, McpSessionsStore } from './sessions/sessions.store.js';
import { VisibleChanges } from './watch/visible-changes.js';

translateErrors(McpHttpError, ({ status, message, headers }) => new Problem(status, message, headers));

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
    log: Log,
  ) {
    const ports = { host, changes, sessions, questions, cancellations, streams: streamsOf(streams), log };
    this.http = new McpHttp(ports);
  }

  answer(call: McpCall, http: Http): Promise<void> {
    return this.http.answer(call, http);
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
