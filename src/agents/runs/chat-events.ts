import type { TurnOf } from '../../platform/jobs/index.js';
import type { ServerEvent } from '../../platform/streams/index.js';
import { type Signals, WakeUp } from '../../platform/topics/index.js';
import { chatTopic } from '../chats/index.js';
import type { ChatEventsStore, StreamedRun } from './chat-events.store.js';
import type { RunEvents } from './run-events.js';

/** Where the events of chats are found. */
interface ChatEventParts {
  readonly chats: ChatEventsStore;
  readonly runs: RunEvents;
  readonly signals: Signals;
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
    const { chats, signals } = this.parts;
    const wakeUp = new WakeUp(signals, chatTopic(this.chatId));
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
