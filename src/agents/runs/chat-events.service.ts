import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import type { TurnOf } from '../../platform/concurrency/index.js';
import { type ServerEvent, whileAllowed } from '../../platform/streams/index.js';
import { Subscription, Topics } from '../../platform/topics/index.js';
import { ChatAccess, ChatsStore, ChatView, chatTopic } from '../chats/index.js';
import type { StreamedRun } from './chat-events.store.js';

import { ChatEventsStore } from './chat-events.store.js';
import { RunEvents } from './run-events.js';
import { ChatEventsInput } from './runs.dto.js';

/** Opens the stream of a chat from after an event, until `signal` is aborted or the caller may watch no more. */
type OpenStream = (after: number, signal: AbortSignal) => AsyncIterable<ServerEvent[]>;

/** Watching chats. */
@Injectable()
export class ChatEventsService {
  constructor(
    private readonly chats: ChatsStore,
    private readonly store: ChatEventsStore,
    private readonly runs: RunEvents,
    private readonly access: ChatAccess,
    private readonly topics: Topics,
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
  async events(actor: Actor, { id }: ChatEventsInput): Promise<OpenStream> {
    const chat = await this.chats.require(actor, 'chat.read', id);
    const whose = { organizationId: chat.organization_id, personId: actor.id };
    const events = new ChatEvents({ chats: this.store, runs: this.runs, topics: this.topics }, id, whose);
    const watcher = this.access.watcher(actor, chat);
    return (after, signal) =>
      whileAllowed(this.topics, watcher, within => events.follow(after, within), signal);
  }
}

/** Where the events of chats are found. */
interface ChatEventParts {
  readonly chats: ChatEventsStore;
  readonly runs: RunEvents;
  readonly topics: Topics;
}

/** Every event of every run of a chat, under numbers of the chat's own: from 1, rising by one. */
export class ChatEvents {
  constructor(
    private readonly parts: ChatEventParts,
    private readonly chatId: string,
    /** Who watches. */
    private readonly whose: TurnOf,
  ) {}

  /** Those after number `after`, then each that follows, in batches, without end. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<ServerEvent[]> {
    const { chats, topics } = this.parts;
    const wakeUp = new Subscription(topics, chatTopic(this.chatId));
    try {
      let next = await chats.at(this.chatId, after);
      let shown: StreamedRun | undefined;
      while (!signal.aborted) {
        if (next) {
          yield* this.eventsOf(next, after, signal);
          shown = next;
        }
        next = await chats.after(this.chatId, shown);
        if (next) continue;
        // Whoever watches is asked for at each pause: the chat may be gone.
        yield [];
        await wakeUp.wait(signal);
      }
    } finally {
      wakeUp.close();
    }
  }

  private async *eventsOf(
    { id: call_id, base }: StreamedRun,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<ServerEvent[]> {
    const events = this.parts.runs.follow(call_id, this.whose, Math.max(0, after - base), signal);
    for await (const batch of events)
      yield batch.map(({ id, event, data }) => ({
        id: base + id,
        event,
        data: { call_id, ...(data as object) },
      }));
  }
}
