import type { ServerEvent } from '../../platform/http/sse.js';
import type { Signals } from '../../platform/signals/signals.js';
import { WakeUp } from '../../platform/signals/wake-up.js';
import { chatTopic } from '../chats/chat-topic.js';
import type { ChatEventsStore, StreamedRun } from './chat-events.store.js';
import { RunEvents } from './run-events.js';
import type { RunsStore } from './runs.store.js';

/** Every event of every run of a chat, under numbers of the chat's own: from 1, rising by one. */
export class ChatEvents {
  constructor(
    private readonly chats: ChatEventsStore,
    private readonly runs: RunsStore,
    private readonly signals: Signals,
    private readonly chatId: string,
  ) {}

  /** Those after number `after`, then each that follows, in batches, without end. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<ServerEvent[]> {
    const wakeUp = new WakeUp(this.signals, chatTopic(this.chatId));
    try {
      let next = await this.chats.at(this.chatId, after);
      let shown: StreamedRun | undefined;
      while (!signal.aborted) {
        if (next) {
          yield* this.eventsOf(next, after, signal);
          shown = next;
        }
        next = await this.chats.after(this.chatId, shown);
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
    const events = new RunEvents(this.runs, this.signals, call_id);
    for await (const batch of events.follow(Math.max(0, after - base), signal))
      yield batch.map(({ id, event, data }) => ({
        id: base + id,
        event,
        data: { call_id, ...(data as object) },
      }));
  }
}
