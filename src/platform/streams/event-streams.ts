import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { EventStream, type ServerEvent } from '#libs/fastify-hardening/index.js';
import type { Actor } from '../access/index.js';
import { Config } from '../config/index.js';
import { problemOf, TooManyRequests } from '../errors/index.js';
import { Log } from '../log/index.js';
import { type Counter, Metrics } from '../metrics/index.js';

const RETRY_SECONDS = '30';
/** Pending bytes of all streams together. */
const MAX_PENDING_BYTES = 64 * 1024 * 1024;

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply };
type Owner = Pick<Actor, 'id' | 'credential'>;

/** The streams of events open in this process, no more than the settings allow, so that one caller cannot take all. */
@Injectable()
export class EventStreams implements BeforeApplicationShutdown {
  private readonly open = new Set<EventStream>();
  /** How many each credential and each owner has open. */
  private readonly counts = new Map<string, number>();
  private total = 0;
  private pending = 0;
  private isClosing = false;

  private readonly refusals: Counter<'limit'>;

  constructor(
    private readonly config: Config,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    metrics.gauge({ name: 'atelier_event_streams_open', help: 'Event streams that are open.' }, () => [
      { labels: {}, value: this.count },
    ]);
    this.refusals = metrics.counter({
      name: 'atelier_event_stream_refusals_total',
      help: 'Event streams that were refused, by the limit that they went beyond.',
      labels: ['limit'],
    });
  }

  get count(): number {
    return this.total;
  }

  /** Acquires a slot for one stream; returns its release. Throws TooManyRequests beyond a limit. */
  reserve({ id, credential }: Owner): () => void {
    const { streamLimits: most } = this.config;
    const held: [name: string, limit: number, sentence: string][] = [
      [`credential ${credential.id}`, most.credential, 'This credential has'],
      [`owner ${id}`, most.owner, 'You have'],
    ];
    for (const [name, limit, who] of held)
      if (limit > 0 && (this.counts.get(name) ?? 0) >= limit)
        throw this.refuse(
          name.startsWith('owner') ? 'owner' : 'credential',
          `${who} ${limit} event streams open, which is the most; close some and try again`,
        );
    if (most.process > 0 && this.total >= most.process)
      throw this.refuse('process', 'Too many event streams are open here; try again in a moment');
    this.add(held, 1);
    let released = false;
    return () => {
      if (!released) this.add(held, -1);
      released = true;
    };
  }

  /** Takes the answer over from the framework and sends its head. Throws TooManyRequests beyond a limit. */
  start({ request, reply }: Exchange): EventStream {
    const release = this.reserve((request as FastifyRequest & { user: Actor }).user);
    const stream = EventStream.start(reply, {
      slowReaderMs: this.config.slowReaderSeconds * 1000,
      onPending: bytes => this.note(bytes),
    });
    this.open.add(stream);
    reply.raw.once('close', () => {
      this.open.delete(stream);
      release();
    });
    // It closed before we could listen.
    if (reply.raw.closed) {
      this.open.delete(stream);
      release();
    }
    if (this.isClosing) stream.endWithHint();
    return stream;
  }

  /**
   * Sends one client the batches that `follow` gives, until they end or the client has gone. Returns once the head is sent: a
   * stream that the framework waited for would hold its whole pipeline in memory.
   */
  serve(exchange: Exchange, follow: (signal: AbortSignal) => AsyncIterable<readonly ServerEvent[]>): void {
    const stream = this.start(exchange);
    sendAll(stream, follow(stream.signal)).catch(error => this.fail(exchange, error));
  }

  /** Ends every open stream with the hint to reconnect, to another process or the next. */
  beforeApplicationShutdown(): void {
    this.isClosing = true;
    for (const stream of this.open) stream.endWithHint();
  }

  private fail({ request, reply }: Exchange, error: unknown): void {
    // The route and not the address, which may hold a token.
    const fields = { err: error, method: request.method, route: request.routeOptions?.url };
    if (!problemOf(error)) this.log.error(fields, 'stream failed');
    reply.raw.destroy();
  }

  private refuse(limit: 'credential' | 'owner' | 'process', detail: string): TooManyRequests {
    this.refusals.add({ limit });
    return new TooManyRequests(detail, { 'retry-after': RETRY_SECONDS });
  }

  private note(bytes: number): void {
    this.pending += bytes;
    if (bytes > 0 && this.pending > MAX_PENDING_BYTES) this.endSlowest();
  }

  private endSlowest(): void {
    let slowest: EventStream | undefined;
    for (const stream of this.open)
      if ((stream.stalledSince ?? Infinity) < (slowest?.stalledSince ?? Infinity)) slowest = stream;
    slowest?.endAsTooSlow();
  }

  private add(held: [name: string, ...unknown[]][], change: 1 | -1): void {
    this.total += change;
    for (const [name] of held) {
      const count = (this.counts.get(name) ?? 0) + change;
      if (count > 0) this.counts.set(name, count);
      else this.counts.delete(name);
    }
  }
}

async function sendAll(stream: EventStream, batches: AsyncIterable<readonly ServerEvent[]>): Promise<void> {
  try {
    for await (const batch of batches) await stream.send(batch);
  } finally {
    stream.end();
  }
}
