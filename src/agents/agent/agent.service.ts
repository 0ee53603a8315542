import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Budgets } from '../../identity/index.js';
import type { Actor } from '../../platform/access/actor.js';
import { requireScope } from '../../platform/access/policy.js';
import { Action } from '../../platform/actions/action.js';
import { Database, newId, type UnitOfWork } from '../../platform/database/database.js';
import { storable } from '../../platform/database/storable.js';
import { Conflict, Invalid } from '../../platform/http/problem.js';
import type { Chat } from '../chats/chat.entity.js';
import { ChatsService } from '../chats/chats.service.js';
import { ChatsStore } from '../chats/chats.store.js';
import { estimateUsd } from '../models/estimate.js';
import { ModelCatalog } from '../models/model-catalog.js';
import { ModelsService } from '../models/models.service.js';
import { SubagentsService } from '../subagents/subagents.service.js';
import { SendMessage, SentView } from './agent.dto.js';
import { Deliveries } from './deliveries.js';
import { requireUsableSchema } from './response-check.js';
import { type Delivery, NO_USAGE, type OnApproval } from './run.entity.js';
import type { RunBudget } from './run-limits.js';

/** A chat as sending a message needs it. */
type Target = Pick<Chat, 'id' | 'organizationId' | 'workspaceId' | 'agentName' | 'model'>;

interface NewRun {
  callId: string;
  messageId: string;
  model: string;
  text: string;
  budget: RunBudget | undefined;
  delivery: Delivery;
  onApproval: OnApproval;
  responseSchema: unknown;
}

/** Accepts messages: each starts a run, or waits in its chat for those before it. */
@Injectable()
export class AgentService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ChatsService) private readonly chats: ChatsService,
    @Inject(ChatsStore) private readonly chatsStore: ChatsStore,
    @Inject(Deliveries) private readonly deliveries: Deliveries,
    @Inject(ModelsService) private readonly models: ModelsService,
    @Inject(ModelCatalog) private readonly catalog: ModelCatalog,
    @Inject(SubagentsService) private readonly subagents: SubagentsService,
    @Inject(Budgets) private readonly budgets: Budgets,
  ) {}

  @Action({
    name: 'agent_send',
    summary: 'Send a message to an agent, which starts a run; makes the chat on the first send',
    effect: 'write',
    permission: 'agent.run',
    input: SendMessage,
    output: SentView,
    makes: 'chat_id',
    refuses: {
      402: 'A budget is reached, or has no room for one more model call',
      404: 'No such workspace, chat or agent',
      409: 'A run is in flight and delivery is reject, or the chat belongs to a task',
    },
  })
  async send(actor: Actor, input: SendMessage): Promise<SentView> {
    requireScope(actor, 'agent.run');
    requireUsableSchema(input.response_schema);
    const existing = input.chat_id ? await this.existing(actor, input) : undefined;
    const draft = existing ? undefined : await this.chats.draft(actor, { ...input, model: undefined });
    const expected = existing ?? draft;
    const model = expected && (await this.admit(actor, expected, input));
    return this.database.transaction(async unit => {
      const made = draft && (await this.chats.insert(unit, draft));
      // Somebody else made the chat since we looked: then it is one like any other.
      const target = made ? draft : (existing ?? (await this.existing(actor, input, unit)));
      if (!target) throw new Conflict('chat_id is taken; leave it out to get a new one');
      const chosen = target === expected && model ? model : await this.admit(actor, target, input);
      return this.accept(unit, actor, target, chosen, input);
    });
  }

  private async accept(
    unit: UnitOfWork,
    actor: Actor,
    chat: Target,
    model: string,
    input: SendMessage,
  ): Promise<SentView> {
    const {
      delivery = 'queue',
      on_approval = 'wait',
      budget,
      message: text,
      response_schema: responseSchema,
    } = input;
    const pending = await this.deliveries.hold(unit, chat.id, delivery);
    const ids = { callId: newId(), messageId: newId() };
    await this.store(unit, actor, chat, {
      ...ids,
      model,
      text,
      budget,
      delivery,
      onApproval: on_approval,
      responseSchema,
    });
    const placed = await this.deliveries.place(unit, { ...ids, chatId: chat.id }, delivery, pending);
    return {
      call_id: ids.callId,
      chat_id: chat.id,
      message_id: ids.messageId,
      status: 'pending',
      delivery,
      queue_position: placed.position,
      ...(placed.into ? { into_call_id: placed.into } : {}),
    };
  }

  /** The run, its message and its first event, in one statement. */
  private async store(
    unit: UnitOfWork,
    actor: Actor,
    chat: Target,
    { callId, messageId, model, text, budget, delivery, onApproval, responseSchema }: NewRun,
  ): Promise<void> {
    const content = storable([{ type: 'text', text }]);
    const queued = storable({ call_id: callId, chat_id: chat.id, message_id: messageId });
    await sql`
      with accepted as (
        insert into run (id, chat_id, organization_id, workspace_id, status, state, agent_name, model, created_by, actor, attempt,
          step_count, last_event, usage, budget, delivery, on_approval, response_schema, created_at)
        values (${callId}, ${chat.id}, ${chat.organizationId}, ${chat.workspaceId}, 'pending', 'queued', ${chat.agentName}, ${model},
          ${actor.id}, ${JSON.stringify(actor)}::jsonb, 0, 0, 1, ${JSON.stringify(NO_USAGE)}::jsonb,
          ${budget ? JSON.stringify(budget) : null}::jsonb, ${delivery}, ${onApproval},
          ${responseSchema === undefined ? null : storable(responseSchema)}::json, now())
        returning id, number
      ), said as (
        insert into message (id, chat_id, run_id, run_number, role, content, created_at)
        select ${messageId}, ${chat.id}, id, number, 'user', ${content}::jsonb, now() from accepted
      ), told as (
        insert into run_event (run_id, id, type, data, created_at)
        select id, 1, 'run.queued', ${queued}::jsonb, now() from accepted
      )
      update chat set last_message_at = now(), updated_at = now() where id = ${chat.id}`.execute(
      unit.tables(),
    );
  }

  /** The chat that the message names, if it is there and the caller may send to it. */
  private async existing(actor: Actor, input: SendMessage, unit?: UnitOfWork): Promise<Target | undefined> {
    const id = input.chat_id;
    if (!id) return undefined;
    const found = await (unit ?? this.database)
      .tables<{ chat: Chat }>()
      .selectFrom('chat')
      .select('id')
      .where('id', '=', id)
      .executeTakeFirst();
    if (!found) return undefined;
    const row = await this.chatsStore.require(actor, 'agent.run', id, unit?.tables());
    if (row.task_of)
      throw new Conflict('This chat belongs to a task of another run; send to the chat of that run');
    refuseOther('workspace_id', input.workspace_id?.toLowerCase(), row.workspace_id);
    refuseOther('organization_id', input.organization_id?.toLowerCase(), row.organization_id);
    refuseOther('agent_name', input.agent_name, row.agent_name);
    return {
      id: row.id,
      organizationId: row.organization_id,
      workspaceId: row.workspace_id,
      agentName: row.agent_name,
      model: row.model,
    };
  }

  /** The model of the run: one that may be used, and for whose first call the budgets have room. */
  private async admit(
    actor: Actor,
    chat: Target,
    { model: asked, message, budget }: SendMessage,
  ): Promise<string> {
    const model = await this.modelFor(actor, chat, asked);
    const price = this.catalog.describe(model)?.price ?? null;
    if (budget?.cost_usd !== undefined && !price)
      throw new Invalid(`budget.cost_usd cannot be kept: the price of ${model} is not known here`);
    await this.budgets.requireRoom(chat, estimateUsd(price, Buffer.byteLength(message)));
    return model;
  }

  private async modelFor(
    actor: Actor,
    { organizationId, workspaceId, agentName, model }: Target,
    asked: string | undefined,
  ): Promise<string> {
    const chosen = asked ?? model;
    if (chosen || !workspaceId || !agentName) return this.models.resolve(organizationId, chosen);
    const agent = await this.subagents.require(actor, workspaceId, agentName);
    return this.models.resolve(
      organizationId,
      agent.model,
      `agent_name: the model of the agent ${agentName}`,
    );
  }
}

function refuseOther(field: string, asked: string | undefined, actual: string | null): void {
  if (asked !== undefined && asked !== actual) throw new Invalid(`${field} is not that of the chat`);
}
