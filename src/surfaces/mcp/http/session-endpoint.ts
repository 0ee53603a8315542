import {
  isInitializeRequest,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResponse,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BadRequest, Problem } from '../../../platform/errors/index.js';
import { Log } from '../../../platform/log/index.js';
import { EventStreams } from '../../../platform/streams/index.js';
import type { McpCall } from '../call/mcp-call.js';
import { McpServers } from '../server/mcp-servers.js';
import { Cancellations } from '../sessions/cancellations.js';
import { Questions } from '../sessions/questions.store.js';
import { type McpSession, McpSessionsStore } from '../sessions/sessions.store.js';
import { AnswerLine } from './answer-line.js';
import { authOf } from './exchange.js';
import { ExchangeClosed, SessionExchange } from './session-exchange.js';
import { SessionStream } from './session-stream.js';

interface Http {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** What asks the client something on its way may be one of these; for the others there is nothing to recall. */
const ASKING = ['tools/call', 'prompts/get'];
const MOST_NAME = 200;

/**
 * Streamable HTTP as the revisions up to 2025-11-25 have it. A session is an id by which any process finds in the database
 * what the client said of itself; a client that sends none is answered too, and can only not be asked or told anything.
 */
@Injectable()
export class SessionEndpoint {
  constructor(
    private readonly servers: McpServers,
    private readonly sessions: McpSessionsStore,
    private readonly stream: SessionStream,
    private readonly questions: Questions,
    private readonly cancellations: Cancellations,
    private readonly streams: EventStreams,
    private readonly log: Log,
  ) {}

  async answer(call: McpCall, http: Http): Promise<void> {
    const { method, headers } = http.request;
    const id = headers['mcp-session-id'];
    requireRevision(headers['mcp-protocol-version']);
    const session = id === undefined ? undefined : await this.sessions.require(call.actor.id, String(id));
    if (method === 'POST') return this.take(call, session, http);
    if (method === 'GET' && session) return this.stream.carry(call, session, http);
    if (method !== 'DELETE' || !session)
      throw new Problem(405, `There is nothing to ${method} here without a session`, { allow: 'POST' });
    await this.sessions.end(session);
    await http.reply.status(204).send();
  }

  private async take(call: McpCall, session: McpSession | undefined, http: Http): Promise<void> {
    const { body, headers } = http.request;
    if (isJSONRPCRequest(body)) {
      requireAccept(headers.accept);
      return this.serve(call, session, body, http);
    }
    if (isJSONRPCResultResponse(body) || isJSONRPCErrorResponse(body)) await this.heed(session, body);
    else if (isJSONRPCNotification(body)) await this.note(session, body);
    else throw new BadRequest('The body is not a message of JSON-RPC 2.0');
    await http.reply.status(202).send();
  }

  private async serve(
    call: McpCall,
    session: McpSession | undefined,
    message: JSONRPCRequest,
    http: Http,
  ): Promise<void> {
    const line = new AnswerLine(http.reply, () => this.streams.start(http));
    const taken = this.cancellations.of(session?.id, message.id);
    const signal = AbortSignal.any([call.signal, taken.signal]);
    const ask = session && (() => this.questions.ask(session.id));
    const exchange = new SessionExchange(message, { say: said => line.say(said), gone: signal, ask });
    const heard = { actor: call.actor, view: call.view, signal };
    try {
      const server = this.servers.of(heard);
      server.onerror = error => this.log.debug({ err: error }, 'MCP request refused');
      await server.connect(exchange);
      signal.addEventListener('abort', () => void exchange.close(), { once: true });
      if (session && ASKING.includes(message.method)) await exchange.recall(session);
      else exchange.sessionId = session?.id;
      const answer = await exchange.serve(authOf(heard));
      if (isInitializeRequest(message)) await this.begin(call, message, answer, http.reply);
      await line.end(answer);
    } catch (error) {
      if (!(error instanceof ExchangeClosed)) throw error;
      await line.drop();
    } finally {
      taken.forget();
      await exchange.close();
    }
  }

  /** A client that was welcomed gets a session. */
  private async begin(
    { actor }: McpCall,
    { params }: JSONRPCRequest,
    answer: JSONRPCResponse,
    reply: FastifyReply,
  ): Promise<void> {
    if (!('result' in answer) || !isWelcome(answer.result)) return;
    const { clientInfo = {}, capabilities = {} } = params as Introduction;
    const { elicitation, sampling, roots } = capabilities;
    const session = await this.sessions.begin(actor.id, answer.result.protocolVersion, {
      name: String(clientInfo.name ?? '').slice(0, MOST_NAME),
      version: String(clientInfo.version ?? '').slice(0, MOST_NAME),
      // Nothing else of what a client says is ever looked at.
      capabilities: {
        ...(elicitation ? { elicitation: modesOf(elicitation) } : {}),
        ...(sampling ? { sampling: {} } : {}),
        ...(roots ? { roots: {} } : {}),
      },
    });
    void reply.header('mcp-session-id', session.id);
  }

  private async heed(session: McpSession | undefined, message: JSONRPCResponse): Promise<void> {
    if (!session) return;
    const { id, ...answer } = message;
    await this.questions.answer(session.id, id, answer);
  }

  private async note(
    session: McpSession | undefined,
    { method, params }: JSONRPCNotification,
  ): Promise<void> {
    if (method === 'notifications/cancelled' && session)
      await this.cancellations.cancel(session.id, (params as { requestId?: unknown } | undefined)?.requestId);
  }
}

/** What a client says of itself: as much of it as counts, and nothing of it is checked. */
interface Introduction {
  readonly clientInfo?: { readonly name?: unknown; readonly version?: unknown };
  readonly capabilities?: {
    readonly elicitation?: { readonly form?: unknown; readonly url?: unknown };
    readonly sampling?: unknown;
    readonly roots?: unknown;
  };
}

/** The ways in which a client can ask its person: an empty object means by forms. */
const modesOf = ({ form, url }: { form?: unknown; url?: unknown }) => ({
  ...(form ? { form: {} } : {}),
  ...(url ? { url: {} } : {}),
});

const isWelcome = (result: object): result is { protocolVersion: string } =>
  'protocolVersion' in result && typeof result.protocolVersion === 'string';

function requireRevision(revision: string | string[] | undefined): void {
  if (revision === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(revision))) return;
  throw new BadRequest(
    `MCP-Protocol-Version names a revision that is not spoken here; there are ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')}`,
  );
}

/** A client says that it takes both kinds of answer, as either may come (streamable HTTP). */
function requireAccept(accept = ''): void {
  const takes = (type: string) => accept.includes(type) || accept.includes('*/*');
  if (!takes('application/json') || !takes('text/event-stream'))
    throw new Problem(406, 'Accept must name application/json and text/event-stream');
}
