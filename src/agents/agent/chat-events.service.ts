import { Inject, Injectable } from '@nestjs/common';
import { Credentials } from '../../platform/access/access.js';
import type { Actor } from '../../platform/access/actor.js';
import { Action } from '../../platform/actions/action.js';
import { problemOf } from '../../platform/http/problem.js';
import type { ServerEvent } from '../../platform/http/sse.js';
import { whileAllowed } from '../../platform/http/while-allowed.js';
import { Signals } from '../../platform/signals/signals.js';
import { ChatView } from '../chats/chats.dto.js';
import { ChatsStore } from '../chats/chats.store.js';
import { ChatEventsInput } from './agent.dto.js';
import { ChatEvents } from './chat-events.js';
import { ChatEventsStore } from './chat-events.store.js';
import { RunsStore } from './runs.store.js';

/** Opens the stream of a chat from after an event, until `signal` is aborted or the caller may watch no more. */
type OpenStream = (after: number, signal: AbortSignal) => AsyncIterable<ServerEvent[]>;

/** Watching chats. */
@Injectable()
export class ChatEventsService {
  constructor(
    @Inject(ChatsStore) private readonly chats: ChatsStore,
    @Inject(ChatEventsStore) private readonly store: ChatEventsStore,
    @Inject(RunsStore) private readonly runs: RunsStore,
    @Inject(Credentials) private readonly credentials: Credentials,
    @Inject(Signals) private readonly signals: Signals,
  ) {}

  @Action({
    name: 'chat_events',
    summary: 'Stream what happens in a chat, run after run, from its beginning or from after an event',
    effect: 'read',
    permission: 'chat.read',
    input: ChatEventsInput,
    output: ChatView,
    restOnly: true,
  })
  async events(actor: Actor, { id }: ChatEventsInput): Promise<OpenStream> {
    await this.chats.require(actor, 'chat.read', id);
    const events = new ChatEvents(this.store, this.runs, this.signals, id);
    return (after, signal) => whileAllowed(events.follow(after, signal), () => this.mayWatch(actor, id));
  }

  private async mayWatch(actor: Actor, id: string): Promise<boolean> {
    try {
      await this.chats.require(actor, 'chat.read', id);
      return await this.credentials.stands(actor.credential);
    } catch (error) {
      if (problemOf(error)) return false;
      throw error;
    }
  }
}
