import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type McpHttpHandler, type ServerEventBus } from '@modelcontextprotocol/server';
import { BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TooManyRequests } from '../../../platform/http/problem.js';
import { Log } from '../../../platform/log/log.js';
import { takeOver } from '../exchange.js';
import type { McpCall } from '../mcp-call.js';
import { MCP_EXTENSION, type McpExtension } from '../mcp-extension.js';
import { McpServers } from '../mcp-servers.js';
import { MOST_SUBSCRIPTIONS } from '../sessions/session-subscriptions.js';
import { LISTS } from './changed.js';
import { eventOf } from './notifications.js';
import { type Noticed, ResourceWatch, type Watched } from './resource-watch.js';

const MOST_STREAMS = 1000;
const MOST_STREAMS_OF_ONE = 50;

/** The streams of clients of 2026-07-28 (`subscriptions/listen`), each fed with what its caller may see. */
@Injectable()
export class Listening implements BeforeApplicationShutdown {
  private readonly open = new Map<McpHttpHandler, string>();

  constructor(
    @Inject(McpServers) private readonly servers: McpServers,
    @Inject(ResourceWatch) private readonly watch: ResourceWatch,
    @Inject(MCP_EXTENSION) private readonly extension: McpExtension,
    @Inject(Log) private readonly log: Log,
  ) {}

  /** Answers a request to listen. Of the addresses that it names, those count that the caller may read. */
  async answer(call: McpCall, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.requireRoom(call.actor.id);
    const asked = (request.body as ListenBody).params?.notifications;
    const uris = await this.narrow(call, asked);
    const lists = LISTS.filter(list => asked?.[`${list}ListChanged`] === true);
    const handler = createMcpHandler(() => this.servers.of(call), {
      legacy: 'reject',
      bus: this.busOf(call, { uris, lists }),
      onerror: error => this.log.debug({ err: error }, 'MCP request refused'),
    });
    this.open.set(handler, call.actor.id);
    call.signal.addEventListener('abort', () => this.open.delete(handler), { once: true });
    const exchange = takeOver(call, request, reply);
    await toNodeHandler(handler)(exchange.request, exchange.response as never, exchange.body);
  }

  /** Tells the clients that their streams end; they come back to whichever process is there. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.open.keys()].map(handler => handler.close()));
  }

  private requireRoom(actorId: string): void {
    const own = [...this.open.values()].filter(id => id === actorId).length;
    if (this.open.size >= MOST_STREAMS || own >= MOST_STREAMS_OF_ONE)
      throw new TooManyRequests('Too many streams are open: close some', { 'retry-after': '60' });
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

  /** Where the SDK hears of changes: of everything that this caller asked for, for as long as it listens. */
  private busOf({ actor }: McpCall, watched: Watched): ServerEventBus {
    return {
      publish: () => undefined,
      subscribe: listener => {
        const end = new AbortController();
        const stop = this.extension.watch(listener);
        const notice = (noticed: Noticed) => listener(eventOf(noticed));
        this.watch
          .follow(actor, watched, { signal: end.signal, notice })
          .catch(error => this.log.error({ err: error }, 'a subscription of MCP ended'));
        return () => {
          stop();
          end.abort();
        };
      },
    };
  }
}

/** As much of a request to listen as is looked at before the SDK checks it. */
interface AskedFor {
  resourceSubscriptions?: unknown;
  resourcesListChanged?: unknown;
  promptsListChanged?: unknown;
}
interface ListenBody {
  readonly params?: { readonly notifications?: AskedFor };
}
