import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import type { TurnOf } from '../../platform/concurrency/index.js';
import type { EventLog, LogPage, Watched } from '../../platform/streams/index.js';
import type { Topic } from '../../platform/topics/index.js';
import { ChatsStore, ChatView, chatTopic } from '../chats/index.js';
import type { StreamedRun } from './chat-events.store.js';

import { ChatEventsStore } from './chat-events.store.js';
import { RunEvents } from './run-events.js';
import { ChatEventsInput } from './runs.dto.js';

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
    const whose = { organizationId: organization_id, personId: actor.id };
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
    private readonly whose: TurnOf,
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
