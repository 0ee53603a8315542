import { Inject, Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/actor.js';
import type { WorkspacePermission } from '../../platform/access/policy.js';
import { Action } from '../../platform/actions/action.js';
import { Subject } from '../../platform/actions/subject.js';
import { Database } from '../../platform/database/database.js';
import { iso } from '../../platform/database/rows.js';
import { DEFAULT_LIMIT, decodeCursor, type Page, pageOf } from '../../platform/http/page.js';
import { Conflict, Invalid, NotFound } from '../../platform/http/problem.js';
import { ChatsStore } from '../chats/chats.store.js';
import { QueueStore } from './queue.store.js';
import {
  EditQueuedMessage,
  ListQueue,
  QueuedMessageId,
  QueuedMessagePage,
  QueuedMessageView,
  StoppedView,
  StopRuns,
  WithdrawnView,
} from './run-control.dto.js';
import { RunStopper } from './run-stopper.js';
import { RunsStore } from './runs.store.js';

/** Stopping runs, and what waits behind them. */
@Injectable()
export class RunControlService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ChatsStore) private readonly chats: ChatsStore,
    @Inject(RunsStore) private readonly runs: RunsStore,
    @Inject(QueueStore) private readonly queue: QueueStore,
    @Inject(RunStopper) private readonly stopper: RunStopper,
  ) {}

  @Action({
    name: 'run_stop',
    summary: 'Stop a run, or the run in flight of a chat; what it had produced is kept',
    effect: 'write',
    permission: 'agent.run',
    input: StopRuns,
    output: StoppedView,
  })
  async stop(actor: Actor, { call_id, chat_id, clear_queue = false }: StopRuns): Promise<StoppedView> {
    if ((call_id === undefined) === (chat_id === undefined))
      throw new Invalid('Name the run as call_id, or its chat as chat_id');
    const chatId = chat_id ?? (await this.chatOf(call_id));
    await this.chats.require(actor, 'agent.run', chatId);
    const [current, ...waiting] = await this.queue.pendingRuns(chatId);
    const first = call_id ?? current;
    const ids = clear_queue ? [first, current, ...waiting] : [first];
    const stopped = await this.stopper.stop(
      chatId,
      [...new Set(ids)].filter(id => id !== undefined),
    );
    return { stopped };
  }

  @Action({
    name: 'queue_list',
    summary: 'List the messages of a chat that wait for the run in flight',
    effect: 'read',
    permission: 'chat.read',
    input: ListQueue,
    output: QueuedMessagePage,
  })
  async list(
    actor: Actor,
    { chat_id, limit = DEFAULT_LIMIT, cursor }: ListQueue,
  ): Promise<Page<QueuedMessageView>> {
    await this.chats.require(actor, 'chat.read', chat_id);
    const [after] = decodeCursor(cursor, 'number');
    const rows = await this.queue.list(chat_id, limit + 1, after);
    const view = ({ message_id, call_id, text, created_at }: (typeof rows)[number]) => ({
      message_id,
      call_id,
      chat_id,
      message: text,
      created_at: iso(created_at),
    });
    return pageOf(rows, limit, view, row => [row.run_number]);
  }

  @Action({
    name: 'queue_edit',
    summary: 'Change a message that still waits',
    effect: 'write',
    permission: 'agent.run',
    input: EditQueuedMessage,
    output: QueuedMessageView,
    refuses: { 409: 'Its run has begun' },
  })
  async edit(actor: Actor, { message_id, message }: EditQueuedMessage): Promise<QueuedMessageView> {
    const {
      chat_id,
      run_id: call_id,
      created_at,
    } = await this.requireMessage(actor, 'agent.run', message_id);
    if (!(await this.queue.rewrite(message_id, message)))
      throw new Conflict('Its run has begun; send another message instead');
    return { message_id, call_id, chat_id, message, created_at: iso(created_at) };
  }

  @Action({
    name: 'queue_withdraw',
    summary: 'Withdraw a message that still waits',
    effect: 'destructive',
    permission: 'agent.run',
    input: QueuedMessageId,
    output: WithdrawnView,
    refuses: { 409: 'Its run has begun' },
  })
  async withdraw(actor: Actor, { message_id }: QueuedMessageId): Promise<WithdrawnView> {
    const { chat_id, run_id } = await this.requireMessage(actor, 'agent.run', message_id);
    await this.database.transaction(async unit => {
      await this.runs.lockChat(unit, chat_id);
      const wasNext = (await this.runs.headOf(unit, chat_id)) === run_id;
      if (!(await this.queue.withdraw(unit, run_id)))
        throw new Conflict('Its run has begun; stop it instead');
      if (wasNext) await this.runs.enqueueNext(unit, chat_id);
    });
    return { message_id, withdrawn: true };
  }

  @Subject('message', 'workspace', () => ({ organization_id: null, workspace_id: null }))
  private async requireMessage(actor: Actor, permission: WorkspacePermission, id: string) {
    const message = await this.queue.message(id);
    if (!message) throw new NotFound('No such message');
    await this.chats.require(actor, permission, message.chat_id);
    return message;
  }

  private async chatOf(callId: string | undefined): Promise<string> {
    const run = callId && (await this.runs.find(callId));
    if (!run) throw new NotFound('No such run');
    return run.chat_id;
  }
}
