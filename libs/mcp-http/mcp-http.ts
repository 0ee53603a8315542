import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type McpHttpHandler, type Server } from '@modelcontextprotocol/server';
import { callOf, takeOver } from './exchange.js';
import type { Call, HttpExchange, McpPorts } from './ports.js';
import { RequestsUnderWay } from './requests-under-way.js';
import { isOfSessions } from './revision.js';
import { SessionEndpoint } from './session-endpoint.js';
import { SessionSubscriptions } from './session-subscriptions.js';
import { SubscriptionStreams } from './subscription-streams.js';

/** Streamable HTTP: each request is answered by a server of its own, in whichever process it reaches. */
export class McpHttp<C extends Call> {
  private readonly handler: McpHttpHandler;
  private readonly serve: ReturnType<typeof toNodeHandler>;
  private readonly sessions: SessionEndpoint<C>;
  private readonly subscriptions: SubscriptionStreams<C>;

  constructor(ports: McpPorts<C>) {
    const { host, log } = ports;
    const subscriptions = new SessionSubscriptions(ports.sessions, ports.changes);
    const serverOf = (call: C): Server => {
      const server = host.server(call);
      subscriptions.offer(server, call);
      return server;
    };
    const underWay = new RequestsUnderWay(ports.cancellations);
    this.handler = createMcpHandler(({ authInfo }) => serverOf(callOf(authInfo) as C), {
      legacy: 'reject',
      onerror: error => log.debug({ err: error }, 'MCP request refused'),
    });
    this.serve = toNodeHandler(this.handler, {
      onerror: error => log.error({ err: error }, 'MCP request failed'),
    });
    this.sessions = new SessionEndpoint(serverOf, underWay, ports);
    this.subscriptions = new SubscriptionStreams(serverOf, ports);
  }

  /** Answers a request, as the revision has it that the client speaks. Throws what the reply has to say by HTTP alone. */
  async answer(call: C, http: HttpExchange): Promise<void> {
    const { request } = http;
    if (isOfSessions(request)) return this.sessions.answer(call, http);
    if (isListening(request.body)) return this.subscriptions.serve(call, http);
    const exchange = takeOver(call, http);
    await this.serve(exchange.request, exchange.response as never, exchange.body);
  }

  /** Ends what is open: it would keep the process. */
  async close(): Promise<void> {
    await Promise.all([this.handler.close(), this.subscriptions.close()]);
  }
}

const isListening = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'method' in body && body.method === 'subscriptions/listen';
