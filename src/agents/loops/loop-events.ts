import type { ServerEvent } from '#libs/fastify-hardening/index.js';
import { iso, type Row } from '../../platform/database/index.js';
import type { EventLog, LogPage } from '../../platform/streams/index.js';
import type { Topic } from '../../platform/topics/index.js';
import { type LoopsStore, loopTopic } from './records/index.js';

const PAGE = 100;

/** What happened to a loop, up to its end; one that is resumed goes on with the numbers that follow. */
export class LoopEvents implements EventLog {
  readonly topic: Topic;

  constructor(
    private readonly loops: LoopsStore,
    private readonly id: string,
  ) {
    this.topic = loopTopic(id);
  }

  async read(after: number): Promise<LogPage> {
    // Before its events: what is not there by then may follow.
    const loop = await this.loops.find(this.id);
    if (!loop) return { events: [], isLast: true };
    const rows = await this.loops.events(this.id, after, PAGE);
    const events = rows.map(eventOf);
    const isLast = loop.state === 'done' && (events.at(-1)?.id ?? after) >= loop.last_event;
    return { events, isLast };
  }

  async end(): Promise<ServerEvent | undefined> {
    const loop = await this.loops.find(this.id);
    const rows = loop ? await this.loops.events(this.id, loop.last_event - 1, 1) : [];
    return rows.map(eventOf).at(0);
  }
}

const eventOf = ({ id, type, data, created_at }: Row<'loop_event'>): ServerEvent => ({
  id,
  event: type,
  data: { ...data, time: iso(created_at) },
});
