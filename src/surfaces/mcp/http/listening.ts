import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  type McpHttpHandler,
  type ServerEvent,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import { BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Log } from '../../../platform/log/index.js';
import { EventStreams } from '../../../platform/streams/index.js';
import type { McpCall } from '../call/mcp-call.js';
import { MCP_EXTENSION, type McpExtension } from '../call/mcp-extension.js';
import { McpServers } from '../server/mcp-servers.js';
import { MOST_SUBSCRIPTIONS } from '../sessions/session-subscriptions.js';
import { LISTS } from '../watch/changed.js';
import { CredentialWatch } from '../watch/credential-watch.js';
import { ListsWatch } from '../watch/lists-watch.js';
import { eventOf } from '../watch/notifications.js';
import { Outlet } from '../watch/outlet.js';
import { type Noticed, ResourceWatch } from '../watch/resource-watch.js';
import { takeOver } from './exchange.js';

/** The streams of clients of 2026-07-28 (`subscriptions/listen`), each fed with what its caller may see. */
@Injectable()
export class Listening implements BeforeApplicationShutdown {
  private readonly open = new Set<McpHttpHandler>();

  constructor(
    private readonly servers: McpServers,
    private readonly watch: ResourceWatch,
    private readonly lists: ListsWatch,
    private readonly credentials: CredentialWatch,
    @Inject(MCP_EXTENSION) private readonly extension: McpExtension,
    private readonly streams: EventStreams,
    private readonly log: Log,
  ) {}

  /** Answers a request to listen. Of the addresses that it names, those count that the caller may read. */
  async answer(call: McpCall, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const release = this.streams.reserve(call.actor);
    reply.raw.once('close', release);
    const asked = (request.body as ListenBody).params?.notifications;
    const uris = await this.narrow(call, asked);
    const lists = LISTS.filter(list => asked?.[`${list}ListChanged`] === true);
    const heard = new Outlet<ServerEvent>();
    const { actor, signal } = call;
    const watching = { actor, signal, notice: (noticed: Noticed) => heard.put(eventOf(noticed)) };
    const handler = createMcpHandler(() => this.servers.of(call), {
      legacy: 'reject',
      bus: busOf(heard),
      onerror: error => this.log.debug({ err: error }, 'MCP request refused'),
    });
    this.open.add(handler);
    const stop = this.extension.watch(event => heard.put(event));
    const forget = this.credentials.begin(actor, () => void handler.close());
    const end = () => {
      this.open.delete(handler);
      stop();
      forget();
    };
    signal.addEventListener('abort', end, { once: true });
    const fail = (error: unknown) => {
      this.log.error({ err: error }, 'a subscription of MCP ended');
      void handler.close();
    };
    const { over } = await this.lists.begin({ ...watching, lists });
    over.catch(fail);
    this.watch.follow(actor, uris, watching).catch(fail);
    const exchange = takeOver(call, request, reply);
    await toNodeHandler(handler)(exchange.request, exchange.response as never, exchange.body);
  }

  /** Tells the clients that their streams end; they come back to whichever process is there. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.open].map(handler => handler.close()));
  }

  /** Takes out of the request what is not for the caller to follow, so that the answer tells what is followed. */
  private async narrow({ actor }: McpCall, asked: AskedFor | undefined): Promise<string[]> {
    if (!asked || !Array.isArray(asked.resourceSubscriptions)) return [];
    const readable: string[] = [];
    for (const uri of asked.resourceSubscriptions.slice(0, MOST_SUBSCRIPTIONS))
      if (typeof uri === 'string' && (await this.watch.isVisible(actor, uri))) readable.push(uri);
    asked.resourceSubscriptions = readable;
    return readable;
  }
}

/** Where the SDK hears of changes: of what this one caller asked for. */
const busOf = (heard: Outlet<ServerEvent>): ServerEventBus => ({
  publish: event => heard.put(event),
  subscribe: listener => {
    heard.openTo(listener);
    return () => heard.close();
  },
});

/** As much of a request to listen as is looked at before the SDK checks it. */
interface AskedFor {
  resourceSubscriptions?: unknown;
  resourcesListChanged?: unknown;
  promptsListChanged?: unknown;
}
interface ListenBody {
  readonly params?: { readonly notifications?: AskedFor };
}
