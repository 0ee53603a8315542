import { randomUUID } from 'node:crypto';
import { notificationOf } from './notifications.js';
import { Outlet } from './outlet.js';
import {
  type Call,
  type Change,
  type HttpExchange,
  LISTS,
  type McpPorts,
  type McpSession,
  type MessageStream,
  type Positions,
  type WakeUp,
} from './ports.js';

type StreamPorts<C extends Call> = Pick<McpPorts<C>, 'sessions' | 'changes' | 'streams'>;

/** The stream of a session, for messages that answer no request: what changed of what the client follows. */
export class SessionStream<C extends Call> {
  constructor(private readonly ports: StreamPorts<C>) {}

  /** Ends when the client goes, its credential or the session ends, or the client opens another stream in any process. */
  async serve(call: C, { id }: McpSession, http: HttpExchange): Promise<void> {
    const { sessions, changes, streams } = this.ports;
    const streamId = randomUUID();
    const wakeUp = sessions.wakeUp(id);
    const messages = new Outlet<object>();
    const over = new AbortController();
    const stop = changes.followHost(event => messages.put(notificationOf(event)));
    try {
      // What changed while the client was away is not known any more, so all that it follows may have.
      const mayHaveMissed = await sessions.takeStream(id, streamId);
      const { signal } = over;
      const notice = (change: Change) => messages.put(notificationOf(change));
      // Before the stream begins: a client that sees it begin misses nothing that comes after.
      const lists = await changes.followLists(call, LISTS, { signal, notice });
      const stream = streams.start(http);
      const ended = lists.over.catch(() => stream.end());
      const forget = changes.untilLost(call, () => stream.end());
      messages.openTo(message => void stream.send(message));
      try {
        await this.followResources(call, { id, streamId, stream, wakeUp, notice, mayHaveMissed });
      } finally {
        forget();
        stream.end();
        over.abort();
        await ended;
      }
      // Its fault, where that ended the stream.
      await lists.over;
    } finally {
      stop();
      messages.close();
      wakeUp.close();
    }
  }

  private async followResources(call: C, one: Followed): Promise<void> {
    const { id, streamId, stream, wakeUp, notice } = one;
    const positions: Positions = new Map();
    for (let { mayHaveMissed } = one; ; mayHaveMissed = false) {
      const state = await this.ports.sessions.state(id);
      if (stream.signal.aborted || state?.streamId !== streamId) return;
      const { subscriptions } = state;
      if (mayHaveMissed) for (const uri of subscriptions) notice({ uri });
      const round = new AbortController();
      const signal = AbortSignal.any([round.signal, stream.signal]);
      const following = this.ports.changes.followResources(call, subscriptions, {
        signal,
        positions,
        notice,
      });
      // Its fault is thrown below.
      following.catch(() => wakeUp.wake());
      await wakeUp.wait(stream.signal);
      round.abort();
      await following;
    }
  }
}

/** A stream of a session. */
interface Followed {
  readonly id: string;
  readonly streamId: string;
  readonly stream: MessageStream;
  readonly wakeUp: WakeUp;
  readonly notice: (change: Change) => void;
  readonly mayHaveMissed: boolean;
}
