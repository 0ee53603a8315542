import { Injectable } from '@nestjs/common';
import { type Actor, holdsAuthorityOf, type WorkspacePermission } from '../../platform/access/index.js';
import { Action, Subject, type Tenant } from '../../platform/actions/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { ById, ListById, type Page, readPage, toView } from '../../platform/dto/index.js';
import { Conflict, Forbidden, Invalid, NotFound, unseenAs } from '../../platform/errors/index.js';
import { ChatsStore, MessagesStore, type QueuedRow, type StoredMessage } from '../chats/index.js';
import { type PendingRun, RunStopper, RunWriter } from '../runs/index.js';
import { Deliveries } from './deliveries.js';
import { EditQueuedMessage, QueuedMessagePage, QueuedMessageView, WithdrawnView } from './messages.dto.js';

/** A waiting message and its run, the run in flight before it (none where it is itself next), and what else waits. */
interface Waiting {
  readonly message: StoredMessage;
  readonly own: PendingRun;
  readonly head: PendingRun | undefined;
  readonly waiting: readonly PendingRun[];
}

const BEGUN = 'Its run has begun, or it has entered the one in flight';

/** The messages that wait in a chat. */
@Injectable()
export class QueueService {
  constructor(
    private readonly database: Database,
    private readonly chats: ChatsStore,
    private readonly messages: MessagesStore,
    private readonly writer: RunWriter,
    private readonly deliveries: Deliveries,
    private readonly stopper: RunStopper,
  ) {}

  @Action('queue_list', 'GET /api/agent/queue', {
    on: 'chat_id',
    summary: 'List the messages of a chat that wait for the run in flight',
    permission: 'chat.read',
    input: ListById({ chat_id: 'The chat' }),
    output: QueuedMessagePage,
  })
  async list(actor: Actor, { chat_id, ...asked }: ListById<'chat_id'>): Promise<Page<QueuedMessageView>> {
    await this.chats.require(actor, 'chat.read', chat_id);
    const page = await readPage({ by: 'run_number', kind: 'number' }, asked, slice =>
      this.messages.queued(chat_id, slice),
    );
    return { ...page, items: page.items.map(row => viewOf(row, chat_id)) };
  }

  @Action('queue_update', 'PATCH /api/agent/queue/:messageId', {
    on: 'message_id',
    summary: 'Change a message that still waits, or its place among those that wait',
    permission: 'agent.run',
    input: EditQueuedMessage,
    output: QueuedMessageView,
    refuses: { 409: 'Its run has begun' },
  })
  async edit(actor: Actor, { message_id, message, position }: EditQueuedMessage): Promise<QueuedMessageView> {
    const asked = await this.requireMessage(actor, 'agent.run', message_id);
    return this.change(asked, async (unit, found) => {
      if (message === undefined && position === undefined)
        throw new Invalid('Name the new message, or its position');
      if (message !== undefined) await this.rewrite(unit, actor, found, message);
      if (position !== undefined) await this.move(unit, found, position);
      return this.view(unit, found);
    });
  }

  @Action('queue_withdraw', 'DELETE /api/agent/queue/:messageId', {
    on: 'message_id',
    summary: 'Withdraw a message that still waits',
    consequence: 'The message is not answered; it can be sent again.',
    permission: 'agent.stop',
    input: ById({ message_id: 'The message' }),
    output: WithdrawnView,
    refuses: { 409: 'Its run has begun' },
  })
  async withdraw(actor: Actor, { message_id }: ById<'message_id'>): Promise<WithdrawnView> {
    const asked = await this.requireMessage(actor, 'agent.stop', message_id);
    return this.change(asked, async (unit, { message, head }) => {
      if (!(await this.stopper.withdraw(unit, message.run_id))) throw new Conflict(BEGUN);
      await this.writer.deleteMessage(unit, message_id);
      if (!head) return { message_id, withdrawn: true };
      const data = { message_id, call_id: message.run_id };
      await this.writer.recountSteers(unit, head.id);
      await this.writer.append(unit, head.id, [{ type: 'message.withdrawn', data }], { wakeWorker: true });
      return { message_id, withdrawn: true };
    });
  }

  @Action('queue_steer', 'POST /api/agent/queue/:messageId/steer', {
    on: 'message_id',
    summary: 'Let a message that waits enter the run in flight, at its next step',
    permission: 'agent.run',
    input: ById({ message_id: 'The message' }),
    output: QueuedMessageView,
    commitsAnswer: true,
    refuses: { 409: 'Its run has begun, or none is in flight before it' },
  })
  async steer(actor: Actor, { message_id }: ById<'message_id'>): Promise<QueuedMessageView> {
    const asked = await this.requireMessage(actor, 'agent.run', message_id);
    return this.change(asked, async (unit, found) => {
      const { message, head, waiting } = found;
      if (!head) throw new Conflict('Its run is about to begin: no other is in flight');
      const accepted = { actor, callId: message.run_id, messageId: message_id, chatId: message.chat_id };
      await this.deliveries.steer(unit, accepted, head, waiting);
      return unit.answers(await this.view(unit, found));
    });
  }

  /** Does something with a message that waits, while nothing else in its chat begins, ends or moves. */
  private async change<T>(
    { id, chat_id }: StoredMessage,
    work: (unit: UnitOfWork, found: Waiting) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(async unit => {
      const [head, ...waiting] = await this.deliveries.lock(unit, chat_id, 'queue');
      const message = await this.messages.find(id, unit);
      if (!message) throw new NotFound('No such message');
      if (message.run_id === head?.id && head.attempt === 0)
        return work(unit, { message, own: head, head: undefined, waiting });
      const own = waiting.find(run => run.id === message.run_id);
      if (!own) throw new Conflict(BEGUN);
      return work(unit, { message, own, head, waiting });
    });
  }

  /** A message is answered on the authority of its sender, or of who started the run that it enters: others do not write it. */
  private async rewrite(
    unit: UnitOfWork,
    actor: Actor,
    { message, head, own }: Waiting,
    text: string,
  ): Promise<void> {
    const authorities = own.steers_run_id !== null && head ? [own, head] : [own];
    if (!authorities.every(run => holdsAuthorityOf(actor, run.actor)))
      throw new Forbidden(
        'Only the sender of the message can change it, with the credential that sent it or a wider one',
      );
    if (!(await this.writer.rewriteMessage(unit, message.id, text))) throw new Conflict(BEGUN);
  }

  /** The run that is next is on its way to a worker, so it keeps its place. */
  private async move(unit: UnitOfWork, { message, head, waiting }: Waiting, position: number): Promise<void> {
    if (!head) throw new Conflict('Its run is about to begin; only those behind it can be moved');
    const order = waiting.map(({ id }) => id).filter(id => id !== message.run_id);
    order.splice(position - 1, 0, message.run_id);
    await this.writer.arrange(unit, order);
  }

  private async view(unit: UnitOfWork, { message }: Waiting): Promise<QueuedMessageView> {
    const [row] = await this.messages.queued(message.chat_id, { messageId: message.id }, unit);
    if (!row) throw new Conflict(BEGUN);
    return viewOf(row, message.chat_id);
  }

  @Subject('message', 'workspace', ({ organization_id, workspace_id }: AskedMessage) => ({
    organization_id,
    workspace_id,
  }))
  private async requireMessage(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
  ): Promise<AskedMessage> {
    const message = await this.messages.find(id);
    if (!message) throw new NotFound('No such message');
    const chat = this.chats.require(actor, permission, message.chat_id);
    const { organization_id, workspace_id } = await unseenAs('No such message', chat);
    return { ...message, organization_id, workspace_id };
  }
}

/** A message, and the place of its chat. */
type AskedMessage = StoredMessage & Tenant;

function viewOf(row: QueuedRow, chat_id: string): QueuedMessageView {
  const { text: message } = row;
  return toView(QueuedMessageView, row, { chat_id, message });
}
