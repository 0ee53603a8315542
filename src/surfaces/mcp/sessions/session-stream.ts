import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { EventStream } from '../../../platform/http/sse.js';
import { Signals } from '../../../platform/signals/signals.js';
import { WakeUp } from '../../../platform/signals/wake-up.js';
import type { McpCall } from '../mcp-call.js';
import { MCP_EXTENSION, type McpExtension } from '../mcp-extension.js';
import { LISTS } from '../watch/changed.js';
import { notificationOf } from '../watch/notifications.js';
import { type Positions, ResourceWatch } from '../watch/resource-watch.js';
import { type McpSession, McpSessionsStore, sessionTopic } from './sessions.store.js';

/** The stream on which a client of a session is told what it did not ask for: what changed of what it follows. */
@Injectable()
export class SessionStream {
  constructor(
    @Inject(McpSessionsStore) private readonly sessions: McpSessionsStore,
    @Inject(ResourceWatch) private readonly watch: ResourceWatch,
    @Inject(Signals) private readonly signals: Signals,
    @Inject(MCP_EXTENSION) private readonly extension: McpExtension,
  ) {}

  /** Tells until the client goes, the session ends, or the client opens another stream, wherever. */
  async carry({ actor }: McpCall, { id }: McpSession, reply: FastifyReply): Promise<void> {
    const streamId = randomUUID();
    const wakeUp = new WakeUp(this.signals, sessionTopic(id));
    // What changed while the client was away is not known any more, so all that it follows may have.
    let mayHaveMissed = await this.sessions.takeStream(id, streamId);
    const stream = EventStream.start(reply);
    const tell = (message: object) => void stream.send([{ event: 'message', data: message }]);
    const stop = this.extension.watch(event => tell(notificationOf(event)));
    const positions: Positions = new Map();
    try {
      for (;;) {
        const state = await this.sessions.state(id);
        if (stream.signal.aborted || state?.streamId !== streamId) return;
        if (mayHaveMissed) for (const uri of state.subscriptions) tell(notificationOf({ uri }));
        mayHaveMissed = false;
        const round = new AbortController();
        const signal = AbortSignal.any([round.signal, stream.signal]);
        const watched = { uris: state.subscriptions, lists: LISTS };
        const following = this.watch.follow(actor, watched, {
          signal,
          positions,
          notice: noticed => tell(notificationOf(noticed)),
        });
        // Its fault is thrown below.
        following.catch(() => wakeUp.wake());
        await wakeUp.wait(stream.signal);
        round.abort();
        await following;
      }
    } finally {
      stop();
      wakeUp.close();
      stream.end();
    }
  }
}
