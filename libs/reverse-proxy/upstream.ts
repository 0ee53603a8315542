import http, { type ClientRequest, type RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AnswerEvents, ask } from './ask.js';
import { Connection } from './connection.js';
import { ProxyError } from './proxy-error.js';

/** Opens a connection to the upstream; rejects where there is none, or when `signal` is aborted. */
export type Connect = (signal: AbortSignal) => Promise<Duplex>;

export interface UpstreamLimits {
  /** Connections that are kept while nobody uses them; 16. */
  readonly maxIdle?: number;
  /** How long they are kept; 30,000. */
  readonly idleMs?: number;
}

interface UpstreamRequest extends RequestOptions {
  /** Ends the opening of a connection for it. */
  readonly opening: AbortSignal;
}

/** Connections to one server: those that are idle are used again, the latest first. */
export class Upstream {
  private readonly agent: ConnectionAgent;

  constructor(connect: Connect, { maxIdle = 16, idleMs = 30_000 }: UpstreamLimits = {}) {
    this.agent = new ConnectionAgent(connect, maxIdle, idleMs);
  }

  /** Begins a request on a connection that is idle, or a new one. */
  ask(options: UpstreamRequest, events: AnswerEvents): ClientRequest {
    return ask({ ...options, agent: this.agent }, events);
  }

  /** Begins a request on a new connection, which is not used again. */
  askApart(options: UpstreamRequest, events: AnswerEvents): ClientRequest {
    return ask(
      { ...options, createConnection: (given, made) => this.agent.createConnection(given, made) },
      events,
    );
  }

  endIdle(): void {
    for (const connection of Object.values(this.agent.freeSockets).flat()) connection?.destroy();
  }

  /** Ends idle connections; those in use end when their exchange does. */
  close(): void {
    this.agent.isClosed = true;
    this.endIdle();
  }
}

class ConnectionAgent extends http.Agent {
  isClosed = false;

  constructor(
    private readonly connect: Connect,
    maxIdle: number,
    private readonly idleMs: number,
  ) {
    super({ keepAlive: true, maxFreeSockets: maxIdle });
  }

  override createConnection(
    options: RequestOptions,
    made?: (error: Error | null, connection: Duplex) => void,
  ): undefined {
    this.open((options as UpstreamRequest).opening).then(
      connection => made?.(null, connection),
      (error: ProxyError) => (made as (error: Error) => void)(error),
    );
  }

  override keepSocketAlive(connection: Duplex): boolean {
    return !this.isClosed && connection instanceof Connection && connection.keep(this.idleMs);
  }

  override reuseSocket(connection: Duplex, request: ClientRequest): void {
    super.reuseSocket(connection, request);
    if (connection instanceof Connection) connection.takeIntoUse();
  }

  private async open(signal: AbortSignal): Promise<Connection> {
    try {
      const socket = await this.connect(signal);
      // Whoever asked for it may have gone meanwhile.
      if (signal.aborted) socket.destroy();
      signal.throwIfAborted();
      return new Connection(socket);
    } catch (error) {
      if (signal.aborted) throw new ProxyError('aborted', 'The exchange was ended', { cause: error });
      throw new ProxyError('connect', 'The server cannot be reached', { cause: error });
    }
  }
}
