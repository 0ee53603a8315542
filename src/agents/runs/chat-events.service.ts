import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { type ServerEvent, whileAllowed } from '../../platform/streams/index.js';
import { Signals } from '../../platform/topics/index.js';
import { ChatAccess, ChatsStore, ChatView } from '../chats/index.js';
import { ChatEvents } from './chat-events.js';
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
    private readonly signals: Signals,
  ) {}

  @Action({
    name: 'chat_watch',
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
    const events = new ChatEvents({ chats: this.store, runs: this.runs, signals: this.signals }, id, whose);
    const watcher = this.access.watcher(actor, chat);
    return (after, signal) =>
      whileAllowed(this.signals, watcher, within => events.follow(after, within), signal);
  }
}
