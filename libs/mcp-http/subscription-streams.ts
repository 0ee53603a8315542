import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  type McpHttpHandler,
  type Server,
  type ServerEvent,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import { takeOver } from './exchange.js';
import { eventOf } from './notifications.js';
import { Outlet } from './outlet.js';
import { type Call, type Change, type HttpExchange, LISTS, type McpPorts } from './ports.js';
import { MAX_SUBSCRIPTIONS } from './session-subscriptions.js';

/** The streams of clients of 2026-07-28 (`subscriptions/listen`), each fed with what its caller may see. */
export class SubscriptionStreams<C extends Call> {
  private readonly open = new Set<McpHttpHandler>();

  constructor(
    private readonly server: (call: C) => Server,
    private readonly ports: Pick<McpPorts<C>, 'changes' | 'streams' | 'log'>,
  ) {}

  /** Answers a request to listen. Of the resources that it names, those count that the caller may read. */
  async serve(call: C, http: HttpExchange): Promise<void> {
    const { changes, streams, log } = this.ports;
    const { request, reply } = http;
    const release = streams.reserve(call);
    reply.raw.once('close', release);
    const asked = (request.body as ListenBody).params?.notifications;
    const uris = await this.narrow(call, asked);
    const lists = LISTS.filter(list => asked?.[`${list}ListChanged`] === true);
    const events = new Outlet<ServerEvent>();
    const watch = { signal: call.signal, notice: (change: Change) => events.put(eventOf(change)) };
    const handler = createMcpHandler(() => this.server(call), {
      legacy: 'reject',
      bus: busOf(events),
      onerror: error => log.debug({ err: error }, 'MCP request refused'),
    });
    this.open.add(handler);
    const stop = changes.followHost(event => events.put(event));
    const forget = changes.untilLost(call, () => void handler.close());
    const end = () => {
      this.open.delete(handler);
      stop();
      forget();
    };
    call.signal.addEventListener('abort', end, { once: true });
    const fail = (error: unknown) => {
      log.error({ err: error }, 'MCP subscription failed');
      void handler.close();
    };
    const { over } = await changes.followLists(call, lists, watch);
    over.catch(fail);
    changes.followResources(call, uris, watch).catch(fail);
    const exchange = takeOver(call, http);
    await toNodeHandler(handler)(exchange.request, exchange.response as never, exchange.body);
  }

  /** Tells the clients that their streams end; they come back to whichever process is there. */
  async close(): Promise<void> {
    await Promise.all([...this.open].map(handler => handler.close()));
  }

  /** Takes out of the request what is not for the caller to follow, so that the answer tells what is followed. */
  private async narrow(call: C, asked: AskedFor | undefined): Promise<string[]> {
    if (!asked || !Array.isArray(asked.resourceSubscriptions)) return [];
    const readable: string[] = [];
    for (const uri of asked.resourceSubscriptions.slice(0, MAX_SUBSCRIPTIONS))
      if (typeof uri === 'string' && (await this.ports.changes.isVisible(call, uri))) readable.push(uri);
    asked.resourceSubscriptions = readable;
    return readable;
  }
}

/** Notifies the SDK of changes that this one caller asked for. */
const busOf = (events: Outlet<ServerEvent>): ServerEventBus => ({
  publish: event => events.put(event),
  subscribe: listener => {
    events.openTo(listener);
    return () => events.close();
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
