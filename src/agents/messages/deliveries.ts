import { Injectable } from '@nestjs/common';
import { type Actor, holdsAuthorityOf } from '../../platform/access/index.js';
import type { UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Forbidden } from '../../platform/errors/index.js';
import { Topics } from '../../platform/topics/index.js';
import { chatTopic } from '../chats/index.js';
import {
  type Delivery,
  messageAccepted,
  type PendingRun,
  RunApprovals,
  RunStopper,
  RunsStore,
  SteersStore,
  tellRun,
} from '../runs/index.js';
import { QueueStore } from './queue.store.js';

/** A message that was accepted, with the run that is its own. */
export interface Accepted {
  readonly callId: string;
  readonly messageId: string;
  readonly chatId: string;
}

/** A message that somebody brings to its place. */
type Brought = Accepted & { readonly actor: Actor };

/** Where a message came to be: how many runs come first, and which run it is to enter. */
export interface Placed {
  readonly position: number;
  readonly into: string | null;
}

/** Brings messages to their place among the runs of a chat. All of it happens while the chat is held. */
@Injectable()
export class Deliveries {
  constructor(
    private readonly runs: RunsStore,
    private readonly queue: QueueStore,
    private readonly steers: SteersStore,
    private readonly stopper: RunStopper,
    private readonly approvals: RunApprovals,
    private readonly topics: Topics,
  ) {}

  /** Holds the chat until the transaction ends; the runs there that are in flight or wait. */
  async hold(unit: UnitOfWork, chatId: string, delivery: Delivery): Promise<PendingRun[]> {
    await this.runs.lockChat(unit, chatId);
    const pending = await this.runs.pending(chatId, unit);
    if (pending.length > 0 && delivery === 'reject') throw new Conflict('A run is in flight in this chat');
    return pending;
  }

  /** Gives a message its place; `pending` is what was there before it. */
  async place(
    unit: UnitOfWork,
    accepted: Brought,
    delivery: Delivery,
    [head, ...waiting]: PendingRun[],
  ): Promise<Placed> {
    const { callId, chatId } = accepted;
    if (!head) {
      await this.runs.enqueue(unit, callId);
      unit.afterCommit(() => this.topics.publish(chatTopic(chatId)));
      return { position: 0, into: null };
    }
    if (delivery === 'interrupt') return this.interrupt(unit, accepted, head, waiting);
    if (delivery === 'steer') return this.steer(unit, accepted, head, waiting);
    const position = waiting.length + 1;
    await tellRun(unit.tables(), head.id, [receipt(accepted, delivery, position)]);
    return { position, into: null };
  }

  /**
   * Aims a message at the run in flight: should that end first, it is the next one. What enters a run is done on the
   * authority of whoever started that run, so only they let something in. (403)
   */
  async steer(
    unit: UnitOfWork,
    accepted: Brought,
    head: PendingRun,
    waiting: readonly PendingRun[],
  ): Promise<Placed> {
    const { callId, actor } = accepted;
    if (!holdsAuthorityOf(actor, head.actor))
      throw new Forbidden(
        'Only whoever started the run in flight can steer it, with what started it or a wider credential; send the message with delivery queue or interrupt',
      );
    const others = waiting.map(({ id }) => id).filter(id => id !== callId);
    const before = waiting.filter(run => run.steers_run_id === head.id && run.id !== callId).length;
    await this.steers.aim(unit, callId, head.id);
    if (before < others.length)
      await this.queue.arrange(unit, [...others.slice(0, before), callId, ...others.slice(before)]);
    await this.steers.recount(unit, head.id);
    const position = before + 1;
    await tellRun(unit.tables(), head.id, [receipt(accepted, 'steer', position)], { wakeHolder: true });
    await this.approvals.giveWayBelow(unit, head.id);
    if (head.state === 'waiting') await this.approvals.giveWay(unit, head.id);
    return { position, into: head.id };
  }

  private async interrupt(
    unit: UnitOfWork,
    accepted: Accepted,
    head: PendingRun,
    waiting: readonly PendingRun[],
  ): Promise<Placed> {
    await tellRun(unit.tables(), head.id, [receipt(accepted, 'interrupt', 0)]);
    await this.stopper.end(unit, head.id);
    if (waiting.length > 0) await this.queue.arrange(unit, [accepted.callId, ...waiting.map(({ id }) => id)]);
    await this.runs.enqueue(unit, accepted.callId);
    return { position: 0, into: null };
  }
}

const receipt = ({ messageId, callId }: Accepted, delivery: Delivery, position: number) =>
  messageAccepted({ message_id: messageId, call_id: callId, delivery, queue_position: position });
