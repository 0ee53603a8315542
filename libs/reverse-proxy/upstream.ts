import type { Duplex } from 'node:stream';
import { ProxyError } from './proxy-error.js';
import { ReadLimiter } from './read-limiter.js';

/** Opens a connection to the upstream; rejects where there is none, or when `signal` is aborted. */
export type Connect = (signal: AbortSignal) => Promise<Duplex>;

export interface UpstreamLimits {
  /** Connections that are kept while nobody uses them; 16. */
  readonly maxIdle?: number;
  /** How long they are kept; 30,000. */
  readonly idleMs?: number;
}

/** Gets what happens on a connection while it uses it. */
export interface ConnectionUser {
  data(bytes: Buffer): void;
  end(): void;
  close(): void;
  error(error: Error): void;
}

/** A connection to the upstream. It is listened to from its first use on, also while it is idle. */
export class Connection {
  private user: ConnectionUser | undefined;
  private isHeard = false;
  /** While it is idle: until when it is kept. */
  keptUntil = 0;
  readonly reading: ReadLimiter;

  /** `stray` is called for whatever comes while it has no user. */
  constructor(
    readonly socket: Duplex,
    private readonly stray: (connection: Connection) => void,
  ) {
    this.reading = new ReadLimiter(socket);
  }

  use(user: ConnectionUser): void {
    this.user = user;
    if (this.isHeard) return;
    this.isHeard = true;
    this.socket.on('data', this.data).on('end', this.end).on('close', this.close).on('error', this.error);
  }

  /** Its user is done with it. */
  leave(): void {
    this.user = undefined;
  }

  /** It is another's from now on, errors included. */
  handOver(): void {
    this.leave();
    this.socket.off('data', this.data).off('end', this.end).off('close', this.close).off('error', this.error);
  }

  private readonly data = (bytes: Buffer): void => {
    this.reading.count(bytes.length);
    if (this.user) this.user.data(bytes);
    else this.stray(this);
  };

  private readonly end = (): void => {
    if (this.user) this.user.end();
    else this.stray(this);
  };

  private readonly close = (): void => {
    if (this.user) this.user.close();
    else this.stray(this);
  };

  private readonly error = (error: Error): void => {
    if (this.user) this.user.error(error);
    else this.stray(this);
  };
}

/** Connections to one server: those that are idle are used again, the latest first. */
export class Upstream {
  /** Those that have been idle longest are first. */
  private readonly idle: Connection[] = [];
  private readonly maxIdle: number;
  private readonly idleMs: number;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(
    private readonly connect: Connect,
    { maxIdle = 16, idleMs = 30_000 }: UpstreamLimits = {},
  ) {
    this.maxIdle = maxIdle;
    this.idleMs = idleMs;
  }

  /** One that was used before: the upstream may close it at the same moment. */
  takeIdle(): Connection | undefined {
    return this.idle.pop();
  }

  /** A new one. Throws ProxyError (`connect`, or `aborted`). */
  async open(signal: AbortSignal): Promise<Connection> {
    try {
      return new Connection(await this.connect(signal), this.end);
    } catch (error) {
      if (signal.aborted) throw new ProxyError('aborted', 'The exchange was ended', { cause: error });
      throw new ProxyError('connect', 'The server cannot be reached', { cause: error });
    }
  }

  /** Keeps a connection on which nothing is under way, to be used again. */
  release(connection: Connection): void {
    connection.leave();
    const { socket } = connection;
    if (this.isClosed || socket.destroyed || !socket.readable || !socket.writable) {
      socket.destroy();
      return;
    }
    if (this.idle.length >= this.maxIdle && this.idle[0]) this.end(this.idle[0]);
    // Whatever comes now was not asked for: the next answer could be taken for another's.
    connection.reading.release();
    connection.keptUntil = performance.now() + this.idleMs;
    this.idle.push(connection);
    this.timer ??= setTimeout(this.sweep, this.idleMs).unref();
  }

  /** Ends idle connections; those in use end when their exchange does. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    for (const connection of [...this.idle]) this.end(connection);
  }

  /** Ends those that have been idle for too long. */
  private readonly sweep = (): void => {
    this.timer = undefined;
    const now = performance.now();
    while (this.idle[0] && this.idle[0].keptUntil <= now) this.end(this.idle[0]);
    const [oldest] = this.idle;
    if (oldest) this.timer = setTimeout(this.sweep, Math.ceil(oldest.keptUntil - now)).unref();
  };

  private readonly end = (connection: Connection): void => {
    const at = this.idle.indexOf(connection);
    if (at >= 0) this.idle.splice(at, 1);
    connection.socket.destroy();
  };
}
