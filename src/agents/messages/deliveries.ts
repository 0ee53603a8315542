import { Injectable } from '@nestjs/common';
import { type Actor, holdsAuthorityOf } from '../../platform/access/index.js';
import type { UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Forbidden } from '../../platform/errors/index.js';
import { Topics } from '../../platform/topics/index.js';
import { chatTopic } from '../chats/index.js';
import {
  type NewEvent,
  type PendingRun,
  RunApprovals,
  RunQueue,
  type RunRow,
  RunStopper,
  RunsStore,
  RunWriter,
} from '../runs/index.js';

/** A message that was accepted, with the run that is its own. */
export interface Accepted {
  readonly callId: string;
  readonly messageId: string;
  readonly chatId: string;
}

/** A message with its sender. */
type Sent = Accepted & { readonly actor: Actor };

/** How many runs come before a message, and which run it is to enter. */
export interface QueuePosition {
  readonly position: number;
  readonly into: string | null;
}

/** Queues, steers or interrupts: puts messages among the runs of a chat, which is locked meanwhile. */
@Injectable()
export class Deliveries {
  constructor(
    private readonly runs: RunsStore,
    private readonly queue: RunQueue,
    private readonly writer: RunWriter,
    private readonly stopper: RunStopper,
    private readonly approvals: RunApprovals,
    private readonly topics: Topics,
  ) {}

  /** Locks the chat; the runs there that are in flight or wait. */
  async lock(unit: UnitOfWork, chatId: string, delivery: RunRow['delivery']): Promise<PendingRun[]> {
    await this.writer.lockChat(unit, chatId);
    const pending = await this.runs.pending(chatId, unit);
    if (pending.length > 0 && delivery === 'reject') throw new Conflict('A run is in flight in this chat');
    return pending;
  }

  /** Queues a message as it asks for; `pending` is what was there before it. */
  async deliver(
    unit: UnitOfWork,
    accepted: Sent,
    delivery: RunRow['delivery'],
    [head, ...waiting]: PendingRun[],
  ): Promise<QueuePosition> {
    const { callId, chatId } = accepted;
    if (!head) {
      await this.queue.enqueue(unit, callId);
      this.topics.publishAfterCommit(unit, chatTopic(chatId));
      return { position: 0, into: null };
    }
    if (delivery === 'interrupt') return this.interrupt(unit, accepted, head, waiting);
    if (delivery === 'steer') return this.steer(unit, accepted, head, waiting);
    const position = waiting.length + 1;
    await this.writer.append(unit, head.id, [receipt(accepted, delivery, position)]);
    return { position, into: null };
  }

  /**
   * Aims a message at the run in flight: should that end first, it is the next one. What enters a run is done on the
   * authority of who started that run, so only they let something in. (403)
   */
  async steer(
    unit: UnitOfWork,
    accepted: Sent,
    head: PendingRun,
    waiting: readonly PendingRun[],
  ): Promise<QueuePosition> {
    const { callId, actor } = accepted;
    if (!holdsAuthorityOf(actor, head.actor))
      throw new Forbidden(
        'Only the person who started the run in flight can steer it, with the credential that started it or a wider one; send the message with delivery queue or interrupt',
      );
    const others = waiting.map(({ id }) => id).filter(id => id !== callId);
    const before = waiting.filter(run => run.steers_run_id === head.id && run.id !== callId).length;
    await this.writer.steer(unit, callId, head.id);
    if (before < others.length)
      await this.writer.arrange(unit, [...others.slice(0, before), callId, ...others.slice(before)]);
    await this.writer.recountSteers(unit, head.id);
    const position = before + 1;
    await this.writer.append(unit, head.id, [receipt(accepted, 'steer', position)], { wakeWorker: true });
    await this.approvals.cancelFor(unit, head.id, { below: true });
    if (head.state === 'waiting') await this.approvals.cancelFor(unit, head.id);
    return { position, into: head.id };
  }

  private async interrupt(
    unit: UnitOfWork,
    accepted: Accepted,
    head: PendingRun,
    waiting: readonly PendingRun[],
  ): Promise<QueuePosition> {
    await this.writer.append(unit, head.id, [receipt(accepted, 'interrupt', 0)]);
    await this.stopper.end(unit, head.id);
    if (waiting.length > 0)
      await this.writer.arrange(unit, [accepted.callId, ...waiting.map(({ id }) => id)]);
    await this.queue.enqueue(unit, accepted.callId);
    return { position: 0, into: null };
  }
}

function receipt({ messageId, callId }: Accepted, delivery: string, queue_position: number): NewEvent {
  const data = { message_id: messageId, call_id: callId, delivery, queue_position };
  return { type: 'message.accepted', data };
}
