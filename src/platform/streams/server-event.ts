import type { FastifyRequest } from 'fastify';

/** One event as the HTML standard has it (section 9.2, server-sent events). */
export interface ServerEvent {
  id: number;
  event: string;
  data: unknown;
}

/** An event of a stream that nobody comes back to has no number. */
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

/** The number after which a client wants events: `?after=`, which the input of the route checks, else `Last-Event-ID`, else 0. */
export function resumeAfter({ query, headers }: FastifyRequest): number {
  const number = Number((query as { after?: string }).after ?? headers['last-event-id']);
  return Number.isSafeInteger(number) && number > 0 ? number : 0;
}
