import { once } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** One event as the HTML standard has it (section 9.2, server-sent events). */
export interface ServerEvent {
  id: number;
  event: string;
  data: unknown;
}

/** An event of a stream that nobody comes back to has no number. */
type SentEvent = Omit<ServerEvent, 'id'> & Partial<Pick<ServerEvent, 'id'>>;

const HEARTBEAT_MS = 15_000;
/** What a client waits before it comes back, when we end a stream that is not over. */
const RETRY_MS = 1_000;

/** Streams open in this process, so that a shutdown can end them. */
const open = new Set<EventStream>();

/** One client that watches. Writes wait for a client that reads slowly; a client that is gone ends the stream. */
export class EventStream {
  private readonly heartbeat: NodeJS.Timeout;
  private readonly gone = new AbortController();

  private constructor(private readonly reply: FastifyReply) {
    // A client that does not read what it was sent needs no sign of life on top of it.
    const beat = () => reply.raw.writableNeedDrain || reply.raw.write(':\n\n');
    this.heartbeat = setInterval(beat, HEARTBEAT_MS).unref();
    // Who left before the stream began tells nobody again.
    if (reply.raw.destroyed) this.gone.abort();
    else reply.raw.once('close', () => this.gone.abort());
    open.add(this);
  }

  /** Takes the answer over from the framework and sends its head. */
  static start(reply: FastifyReply): EventStream {
    reply.hijack();
    reply.raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      // A stream is the last thing on its connection, so that a shutdown need not wait for the connection to idle out.
      connection: 'close',
    });
    reply.raw.flushHeaders();
    return new EventStream(reply);
  }

  /** Sends one client the batches that `follow` gives, until they end or the client has gone. */
  static async carry(
    reply: FastifyReply,
    follow: (signal: AbortSignal) => AsyncIterable<ServerEvent[]>,
  ): Promise<void> {
    const stream = EventStream.start(reply);
    try {
      for await (const batch of follow(stream.signal)) await stream.send(batch);
    } finally {
      stream.end();
    }
  }

  /** Ends every open stream with the hint to come back: another process, or the next, carries it on. */
  static endAll(): void {
    for (const stream of open) {
      stream.reply.raw.write(`retry: ${RETRY_MS}\n\n`);
      stream.end();
    }
  }

  /** Aborted when the client has gone, or the stream has ended. */
  get signal(): AbortSignal {
    return this.gone.signal;
  }

  async send(events: readonly SentEvent[]): Promise<void> {
    const text = events
      .map(
        ({ id, event, data }) =>
          `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
      )
      .join('');
    if (this.signal.aborted || this.reply.raw.write(text)) return;
    await once(this.reply.raw, 'drain', { signal: this.signal }).catch(() => undefined);
  }

  end(): void {
    clearInterval(this.heartbeat);
    open.delete(this);
    this.gone.abort();
    this.reply.raw.end();
  }
}

/** The number after which a client wants events: `?after=`, else `Last-Event-ID`, else 0. */
export function resumeAfter(request: FastifyRequest, after: number | undefined): number {
  const header = Number(request.headers['last-event-id']);
  return after ?? (Number.isSafeInteger(header) && header > 0 ? header : 0);
}
