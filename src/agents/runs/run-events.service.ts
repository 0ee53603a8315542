import { Injectable } from '@nestjs/common';
import type { ServerEvent } from '#libs/fastify-hardening/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import type { EventLog, LogPage, Watched } from '../../platform/streams/index.js';
import type { Topic } from '../../platform/topics/index.js';
import { ChatsStore, ChatView, chatTopic } from '../chats/index.js';
import { ChatEventsStore, type NextPart, type StreamedRun } from './chat-events.store.js';
import { RunEventTail } from './run-event-tail.js';
import { RunEventPages } from './run-events.store.js';
import { LAST_EVENTS, runTopic } from './run-state.js';
import { ChatEventsInput } from './runs.dto.js';
import { RunsStore } from './runs.store.js';

/** Most rows that are looked at for a page of events. */
const MAX_ROWS = 500;
const MIN_ROWS = 8;
const FIRST_ROWS = 64;

/** Rows to look at for the next page: a page is cut by its bytes, and of large events there is no use in looking at many. */
const rowsAfter = (found: number) => Math.min(MAX_ROWS, Math.max(MIN_ROWS, found * 2));

/** The events of runs, as many times as they are asked for. */
@Injectable()
export class RunEvents {
  constructor(
    private readonly runs: RunsStore,
    private readonly pages: RunEventPages,
    private readonly tail: RunEventTail,
  ) {}

  /** The log of a run, for one reader. It ends with the run. */
  of(runId: string, whose: readonly string[]): EventLog {
    let limit = FIRST_ROWS;
    const page = async (after: number, signal: AbortSignal) => {
      const events = await this.pages.read({ runId, after, limit }, { whose, signal });
      limit = rowsAfter(events.length);
      return events;
    };
    const read = async (after: number, signal: AbortSignal): Promise<LogPage> => {
      // Looked at before anything is waited for: what is added later is also published later.
      const newest = this.tail.after(runId, after);
      if (newest.length > 0) return { events: newest, isLast: newest.some(isLastEvent), isCaughtUp: true };
      const events = await page(after, signal);
      if (events.length > 0) return { events, isLast: events.some(isLastEvent) };
      if (await this.runs.isPending(runId)) return { events };
      // Ended, or gone: what is not there by now will not follow.
      const rest = await page(after, signal);
      return { events: rest, isLast: rest.length === 0 || rest.some(isLastEvent) };
    };
    return { topic: runTopic(runId), read, end: () => this.pages.last(runId) };
  }
}

const isLastEvent = ({ event }: { event: string }): boolean => LAST_EVENTS.some(last => last === event);

/** Watching chats. */
@Injectable()
export class ChatEventsService {
  constructor(
    private readonly chats: ChatsStore,
    private readonly store: ChatEventsStore,
    private readonly runs: RunEvents,
  ) {}

  @Action('chat_watch', {
    on: { id: 'chat' },
    summary: 'Stream what happens in a chat, run after run, from its beginning or from after an event',
    permission: 'chat.read',
    input: ChatEventsInput,
    output: ChatView,
    restOnly: true,
  })
  async events(actor: Actor, { id }: ChatEventsInput): Promise<Watched> {
    const { workspace_id, organization_id } = await this.chats.require(actor, 'chat.read', id);
    const whose = [organization_id, actor.id];
    return { workspaceId: workspace_id, log: new ChatEvents(this.store, this.runs, id, whose) };
  }
}

/** Every event of every run of a chat, under numbers of the chat's own: from 1, rising by one. */
class ChatEvents implements EventLog {
  private run: StreamedRun | undefined;
  private events: EventLog | undefined;
  private limit = FIRST_ROWS;

  constructor(
    private readonly chats: ChatEventsStore,
    private readonly runs: RunEvents,
    private readonly chatId: string,
    /** Who watches. */
    private readonly whose: readonly string[],
  ) {}

  /** That of the run that is shown; between two runs, that of the chat. */
  get topic(): Topic {
    return this.events?.topic ?? chatTopic(this.chatId);
  }

  async read(after: number, signal: AbortSignal): Promise<LogPage> {
    const { run } = this;
    if (!run) return this.open(after);
    if (!this.events) return this.nextRuns(run, signal);
    const { events, isLast, isCaughtUp } = await this.events.read(Math.max(0, after - run.base), signal);
    if (isLast) this.events = undefined;
    return { events: numbered(run, events), isAgain: isLast, isCaughtUp };
  }

  private async open(after: number): Promise<LogPage> {
    const run = await this.chats.at(this.chatId, after);
    if (!run) return this.nothing();
    this.show(run);
    return { events: [], isAgain: true };
  }

  /** The whole of the runs that have ended, as far as a page goes; the one that is shown from then on is the last of it. */
  private async nextRuns(run: StreamedRun, signal: AbortSignal): Promise<LogPage> {
    const { chats, chatId, limit, whose } = this;
    const parts = await chats.after(chatId, run, limit, { whose, signal });
    const last = parts.at(-1);
    if (!last) return this.nothing();
    const place = ({ runId, distance }: NextPart) => ({ id: runId, base: run.base + distance });
    const events = parts.flatMap(part => numbered(place(part), part.events));
    this.limit = rowsAfter(events.length);
    this.show(place(last), last.isWhole);
    return { events, isAgain: true };
  }

  private async nothing(): Promise<LogPage> {
    return { events: [], isLast: !(await this.chats.exists(this.chatId)) };
  }

  /** The run is the one that is shown; unless all of it was, its own log comes next. */
  private show(run: StreamedRun, isOver = false): void {
    this.run = run;
    this.events = isOver ? undefined : this.runs.of(run.id, this.whose);
  }
}

/** Events of a run under the numbers that they have in its chat. */
const numbered = ({ id: call_id, base }: StreamedRun, events: readonly ServerEvent[]): ServerEvent[] =>
  events.map(({ id, event, data }) => ({ id: base + id, event, data: { call_id, ...(data as object) } }));
