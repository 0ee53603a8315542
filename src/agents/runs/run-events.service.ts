import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import type { EventLog, LogPage, Watched } from '../../platform/streams/index.js';
import type { Topic } from '../../platform/topics/index.js';
import { ChatsStore, ChatView, chatTopic } from '../chats/index.js';
import { ChatEventsStore, RunEventPages, type StreamedRun } from './run-events.store.js';
import { LAST_EVENTS, runTopic } from './run-state.js';
import { ChatEventsInput } from './runs.dto.js';
import { RunsStore } from './runs.store.js';

/** Most rows that are looked at for a page of events. */
const MAX_ROWS = 500;
const MIN_ROWS = 8;
const FIRST_ROWS = 64;

/** The events of runs, as many times as they are asked for. */
@Injectable()
export class RunEvents {
  constructor(
    private readonly runs: RunsStore,
    private readonly pages: RunEventPages,
  ) {}

  /** The log of a run, for one reader. It ends with the run. */
  of(runId: string, whose: readonly string[]): EventLog {
    let limit = FIRST_ROWS;
    const page = async (after: number, signal: AbortSignal) => {
      const events = await this.pages.read({ runId, after, limit }, whose, signal);
      // A page is cut by its bytes: of large events there is no use in looking at many.
      limit = Math.min(MAX_ROWS, Math.max(MIN_ROWS, events.length * 2));
      return events;
    };
    const read = async (after: number, signal: AbortSignal): Promise<LogPage> => {
      const events = await page(after, signal);
      if (events.length > 0) return { events, isLast: events.some(isLastEvent) };
      if (await this.runs.isPending(runId)) return { events };
      // Ended, or gone: what is not there by now will not follow.
      const rest = await page(after, signal);
      return { events: rest, isLast: rest.length === 0 || rest.some(isLastEvent) };
    };
    return { topic: runTopic(runId), read };
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

  @Action({
    name: 'chat_watch',
    on: { id: 'chat' },
    summary: 'Stream what happens in a chat, run after run, from its beginning or from after an event',
    effect: 'read',
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
    if (!this.run || !this.events) return this.nextRun(after);
    const { id: call_id, base } = this.run;
    const { events, isLast } = await this.events.read(Math.max(0, after - base), signal);
    if (isLast) this.events = undefined;
    const numbered = events.map(({ id, event, data }) => ({
      id: base + id,
      event,
      data: { call_id, ...(data as object) },
    }));
    return { events: numbered, isAgain: isLast };
  }

  private async nextRun(after: number): Promise<LogPage> {
    const { chats, chatId, run } = this;
    const next = run ? await chats.after(chatId, run) : await chats.at(chatId, after);
    if (!next) return { events: [], isLast: !(await chats.exists(chatId)) };
    this.run = next;
    this.events = this.runs.of(next.id, this.whose);
    return { events: [], isAgain: true };
  }
}
