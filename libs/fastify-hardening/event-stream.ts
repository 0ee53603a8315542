import type { FastifyReply, FastifyRequest } from 'fastify';

/** One event as the HTML standard has it (section 9.2, server-sent events). */
export interface ServerEvent {
  id: number;
  event: string;
  data: unknown;
}

/** An event of a stream that cannot be resumed has no number. */
export type SentEvent = Omit<ServerEvent, 'id'> & Partial<Pick<ServerEvent, 'id'>>;

/** What batches look like as they are sent, for as long as there is the batch: several streams may send the same one. */
const written = new WeakMap<readonly SentEvent[], Buffer>();

/** Events as they are sent. They are not changed afterwards. */
export function bytesOf(events: readonly SentEvent[]): Buffer {
  const known = written.get(events);
  if (known) return known;
  const text = events
    .map(
      ({ id, event, data }) =>
        `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
    )
    .join('');
  const bytes = Buffer.from(text);
  written.set(events, bytes);
  return bytes;
}

/** The number after which a client wants events: `?after=`, else `Last-Event-ID`, else 0. */
export function resumeAfter({ query, headers }: FastifyRequest): number {
  const number = Number((query as { after?: string }).after ?? headers['last-event-id']);
  return Number.isSafeInteger(number) && number > 0 ? number : 0;
}

const HEARTBEAT_MS = 15_000;
/** How long a client waits before it reconnects, when we end a stream that is not over. */
const RETRY_MS = 1_000;
/** What is given to the connection at once. */
const PIECE_BYTES = 64 * 1024;
/** Pending bytes of a stream, besides one event of any size. */
const MAX_PENDING_BYTES = 1024 * 1024;
/** How long a slow client has to read the reason. */
const HINT_MS = 5_000;
const TOO_SLOW = {
  event: 'stream.closed',
  data: { reason: 'slow_reader', detail: 'What was sent is not read; come back with Last-Event-ID' },
};

/** What a stream needs to know of those that it is one of. */
export interface StreamRules {
  /** How long a client may read nothing of what waits for it. */
  readonly slowReaderMs: number;
  /** Receives how much more, or less, waits in memory. */
  readonly onPending: (bytes: number) => void;
}

/**
 * One client. Writes wait for a client that reads slowly; one that reads nothing for too long, or has too much pending, is told
 * to reconnect and closed. A client that disconnects ends the stream.
 */
export class EventStream {
  private readonly heartbeat: NodeJS.Timeout;
  private readonly gone = new AbortController();
  private readonly queue: Buffer[] = [];
  /** What goes out now, and how much of it has. */
  private sending: { readonly bytes: Buffer; readonly sent: number } = { bytes: Buffer.alloc(0), sent: 0 };
  private pending = 0;
  /** What goes out now; a pump that need not wait for the client is over before its promise is kept here. */
  private pumping: Promise<void> | undefined;
  private isPumping = false;
  private stalled: number | undefined;

  private constructor(
    private readonly reply: FastifyReply,
    private readonly rules: StreamRules,
  ) {
    // A client that does not read what it was sent needs no heartbeat.
    const beat = () => reply.raw.writableNeedDrain || reply.raw.write(':\n\n');
    this.heartbeat = setInterval(beat, HEARTBEAT_MS).unref();
    // Its close event was emitted before.
    if (reply.raw.destroyed) this.close();
    else reply.raw.once('close', () => this.close());
  }

  /** Takes the answer over from the framework and sends its head. */
  static start(reply: FastifyReply, rules: StreamRules): EventStream {
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
    return new EventStream(reply, rules);
  }

  /** Aborted when the client has gone, or the stream has ended. */
  get signal(): AbortSignal {
    return this.gone.signal;
  }

  /** Whether so much waits for the client that more of it would end the stream. */
  get isFull(): boolean {
    return this.pending > MAX_PENDING_BYTES;
  }

  /** Since when the client has not read on (milliseconds since 1970); undefined while it does. */
  get stalledSince(): number | undefined {
    return this.stalled;
  }

  /** Sends events, which are not changed afterwards; resolves when they have left for the client, or never will. */
  async send(events: readonly SentEvent[]): Promise<void> {
    if (this.signal.aborted) return;
    if (this.isFull) return this.endAsTooSlow();
    const bytes = bytesOf(events);
    this.queue.push(bytes);
    this.note(bytes.length);
    if (!this.isPumping) this.pumping = this.pump();
    await this.pumping;
  }

  /** Ends it with the hint to reconnect, and with a last event, if any. */
  endWithHint(...last: SentEvent[]): void {
    const { raw } = this.reply;
    if (!raw.writableEnded) {
      raw.write(this.endOfEvent());
      raw.write(Buffer.concat([bytesOf(last), Buffer.from(`retry: ${RETRY_MS}\n\n`)]));
    }
    this.end();
  }

  /** Ends it and says so to a client that may never read it. */
  endAsTooSlow(): void {
    if (this.signal.aborted) return;
    this.endWithHint(TOO_SLOW);
    setTimeout(() => this.reply.raw.destroy(), HINT_MS).unref();
  }

  end(): void {
    this.close();
    this.reply.raw.end();
  }

  private close(): void {
    clearInterval(this.heartbeat);
    this.gone.abort();
    this.note(-this.pending);
    this.queue.length = 0;
  }

  private async pump(): Promise<void> {
    this.isPumping = true;
    try {
      for (let bytes = this.queue.shift(); bytes; bytes = this.queue.shift())
        for (let at = 0; at < bytes.length && !this.signal.aborted; at += PIECE_BYTES) {
          const piece = bytes.subarray(at, at + PIECE_BYTES);
          this.sending = { bytes, sent: at + piece.length };
          if (!this.reply.raw.write(piece)) await this.drained();
          if (!this.signal.aborted) this.note(-piece.length);
        }
    } finally {
      this.isPumping = false;
    }
  }

  /** The rest of an event that is cut off: what is sent after half an event would be taken for its end. */
  private endOfEvent(): Buffer {
    const { bytes, sent } = this.sending;
    return bytes.subarray(sent, sent === 0 ? 0 : bytes.indexOf('\n\n', sent - 2) + 2);
  }

  private drained(): Promise<void> {
    const { raw } = this.reply;
    this.stalled = Date.now();
    return new Promise(resolve => {
      const timeout = setTimeout(() => this.endAsTooSlow(), this.rules.slowReaderMs).unref();
      const settle = () => {
        clearTimeout(timeout);
        raw.off('drain', settle);
        this.signal.removeEventListener('abort', settle);
        this.stalled = undefined;
        resolve();
      };
      raw.once('drain', settle);
      this.signal.addEventListener('abort', settle, { once: true });
    });
  }

  private note(change: number): void {
    this.pending += change;
    if (change !== 0) this.rules.onPending(change);
  }
}
