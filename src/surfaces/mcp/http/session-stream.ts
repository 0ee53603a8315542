import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../../../platform/access/index.js';
import { type EventStream, EventStreams } from '../../../platform/streams/index.js';
import { Signals, WakeUp } from '../../../platform/topics/index.js';
import type { McpCall } from '../call/mcp-call.js';
import { MCP_EXTENSION, type McpExtension } from '../call/mcp-extension.js';
import { type McpSession, McpSessionsStore, sessionTopic } from '../sessions/sessions.store.js';
import { LISTS } from '../watch/changed.js';
import { CredentialWatch } from '../watch/credential-watch.js';
import { ListsWatch } from '../watch/lists-watch.js';
import { notificationOf } from '../watch/notifications.js';
import { Outlet } from '../watch/outlet.js';
import { type Noticed, type Positions, ResourceWatch } from '../watch/resource-watch.js';

/** The stream on which a client of a session is told what it did not ask for: what changed of what it follows. */
@Injectable()
export class SessionStream {
  constructor(
    private readonly sessions: McpSessionsStore,
    private readonly watch: ResourceWatch,
    private readonly lists: ListsWatch,
    private readonly credentials: CredentialWatch,
    private readonly signals: Signals,
    private readonly streams: EventStreams,
    @Inject(MCP_EXTENSION) private readonly extension: McpExtension,
  ) {}

  /** Tells until the client goes, its credential or the session ends, or the client opens another stream, wherever. */
  async carry({ actor }: McpCall, { id }: McpSession, http: Http): Promise<void> {
    const streamId = randomUUID();
    const wakeUp = new WakeUp(this.signals, sessionTopic(id));
    const messages = new Outlet<object>();
    const over = new AbortController();
    const stop = this.extension.watch(event => messages.put(notificationOf(event)));
    try {
      // What changed while the client was away is not known any more, so all that it follows may have.
      const mayHaveMissed = await this.sessions.takeStream(id, streamId);
      const { signal } = over;
      const notice = (noticed: Noticed) => messages.put(notificationOf(noticed));
      // Before the stream begins, so that a client which sees it begin is told of all that comes after.
      const lists = await this.lists.begin({ actor, lists: LISTS, signal, notice });
      const stream = this.streams.start(http);
      const ended = lists.over.catch(() => stream.end());
      const forget = this.credentials.begin(actor, () => stream.end());
      messages.openTo(message => void stream.send([{ event: 'message', data: message }]));
      try {
        await this.followResources(actor, { id, streamId, stream, wakeUp, notice, mayHaveMissed });
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

  private async followResources(actor: Actor, one: Followed): Promise<void> {
    const { id, streamId, stream, wakeUp, notice } = one;
    const positions: Positions = new Map();
    for (let { mayHaveMissed } = one; ; mayHaveMissed = false) {
      const state = await this.sessions.state(id);
      if (stream.signal.aborted || state?.streamId !== streamId) return;
      if (mayHaveMissed) for (const uri of state.subscriptions) notice({ uri });
      const round = new AbortController();
      const signal = AbortSignal.any([round.signal, stream.signal]);
      const following = this.watch.follow(actor, state.subscriptions, { signal, positions, notice });
      // Its fault is thrown below.
      following.catch(() => wakeUp.wake());
      await wakeUp.wait(stream.signal);
      round.abort();
      await following;
    }
  }
}

interface Http {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** A stream of a session. */
interface Followed {
  readonly id: string;
  readonly streamId: string;
  readonly stream: EventStream;
  readonly wakeUp: WakeUp;
  readonly notice: (noticed: Noticed) => void;
  readonly mayHaveMissed: boolean;
}
