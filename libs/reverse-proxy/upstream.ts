import type { Duplex } from 'node:stream';
import { ProxyError } from './proxy-error.js';

/** Opens a connection to the upstream; rejects where there is none, or when `signal` is aborted. */
export type Connect = (signal: AbortSignal) => Promise<Duplex>;

export interface UpstreamLimits {
  /** Connections that are kept while nobody uses them; 16. */
  readonly maxIdle?: number;
  /** How long they are kept; 30,000. */
  readonly idleMs?: number;
}

interface Idle {
  readonly socket: Duplex;
  readonly timer: NodeJS.Timeout;
  readonly forget: () => void;
}

export interface Acquired {
  readonly socket: Duplex;
  /** It was used before: the upstream may have closed it at the same moment. */
  readonly isReused: boolean;
}

/** Connections to one server: those that are idle are used again, the latest first. */
export class Upstream {
  private readonly idle: Idle[] = [];
  private readonly maxIdle: number;
  private readonly idleMs: number;
  private isClosed = false;

  constructor(
    private readonly connect: Connect,
    { maxIdle = 16, idleMs = 30_000 }: UpstreamLimits = {},
  ) {
    this.maxIdle = maxIdle;
    this.idleMs = idleMs;
  }

  /** Throws ProxyError (`connect`). With `isNew`, it is none that was used before. */
  async acquire(signal: AbortSignal, isNew = false): Promise<Acquired> {
    const kept = isNew ? undefined : this.idle.at(-1);
    if (kept) {
      this.forget(kept);
      return { socket: kept.socket, isReused: true };
    }
    try {
      return { socket: await this.connect(signal), isReused: false };
    } catch (error) {
      if (signal.aborted) throw new ProxyError('aborted', 'The exchange was ended', { cause: error });
      throw new ProxyError('connect', 'The server cannot be reached', { cause: error });
    }
  }

  /** Keeps a connection on which nothing is under way, to be used again. */
  release(socket: Duplex): void {
    if (this.isClosed || socket.destroyed || !socket.readable || !socket.writable) {
      socket.destroy();
      return;
    }
    if (this.idle.length >= this.maxIdle && this.idle[0]) this.end(this.idle[0]);
    // Whatever comes now was not asked for: the next answer could be taken for another's.
    const end = () => this.end(kept);
    const kept: Idle = {
      socket,
      timer: setTimeout(end, this.idleMs).unref(),
      forget: () => {
        for (const event of ENDS) socket.off(event, end);
      },
    };
    for (const event of ENDS) socket.on(event, end);
    socket.resume();
    this.idle.push(kept);
  }

  /** Ends idle connections; those in use end when their exchange does. */
  close(): void {
    this.isClosed = true;
    for (const kept of [...this.idle]) this.end(kept);
  }

  private end(kept: Idle): void {
    this.forget(kept);
    kept.socket.on('error', () => {});
    kept.socket.destroy();
  }

  private forget(kept: Idle): void {
    clearTimeout(kept.timer);
    kept.forget();
    const at = this.idle.indexOf(kept);
    if (at >= 0) this.idle.splice(at, 1);
  }
}

const ENDS = ['data', 'end', 'error', 'close'] as const;
