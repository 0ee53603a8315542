import { Injectable } from '@nestjs/common';
import { Budgets } from '../../identity/billing/index.js';
import { type ActingRun, type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Database, newId, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { AttachmentsService } from '../attachments/index.js';
import { ChatsService, ChatsStore, type CreateChat, isUnnamed, titleOf } from '../chats/index.js';
import { estimateUsd, ModelCatalog, ModelSettingsStore, ResponseSchemas } from '../models/index.js';
import { type NewRun, RunAcceptance, type RunChat, type RunModels, TaskIntake } from '../runs/index.js';
import { SubagentsService } from '../subagents/index.js';
import { Deliveries, type QueuePosition } from './deliveries.js';
import { SendMessage, SentView } from './messages.dto.js';

/** Of a message that waits for nothing. */
const NEXT: QueuePosition = { position: 0, into: null };

/** Accepts messages: each starts a run, or waits in its chat for those before it. */
@Injectable()
export class MessagesService {
  constructor(
    private readonly database: Database,
    private readonly chats: ChatsService,
    private readonly chatsStore: ChatsStore,
    private readonly deliveries: Deliveries,
    private readonly acceptance: RunAcceptance,
    private readonly models: ModelSettingsStore,
    private readonly catalog: ModelCatalog,
    private readonly subagents: SubagentsService,
    private readonly attachments: AttachmentsService,
    private readonly budgets: Budgets,
    private readonly tasks: TaskIntake,
    private readonly schemas: ResponseSchemas,
  ) {}

  @Action('agent_send', 'POST /api/agent/message', {
    on: { chat_id: 'chat', workspace_id: 'workspace' },
    tool: {
      name: 'send_message',
      title: 'Send a message to an agent',
      description:
        'Set an agent to work, in a new chat or an existing one. Answers at once with a call_id; ask run_status for the result.',
    },
    summary: 'Send a message to an agent, which starts a run; makes the chat on the first send',
    permission: 'agent.run',
    input: SendMessage,
    output: SentView,
    commitsAnswer: true,
    makes: 'chat_id',
    refuses: {
      402: 'A budget is reached, or has no room for one more model call',
      404: 'No such workspace, chat, agent or file',
      409: 'A run is in flight and delivery is reject, the chat belongs to a task, or a run may start no more tasks',
      413: 'An attachment is too large',
      429: 'A run has as many tasks at work as it may',
    },
  })
  async send(actor: Actor, input: SendMessage): Promise<SentView> {
    requireScope(actor, 'agent.run');
    if (input.response_schema !== undefined) await this.schemas.requireUsable(input.response_schema);
    const { run: sender } = actor.credential;
    if (sender) return this.sendFrom(sender, actor, input);
    const existing = await this.existing(actor, input);
    if (existing) return this.sendTo(actor, existing, input);
    const draft = await this.chats.draft(actor, chatOf(input), 'agent.run');
    const title = isTitled(input) ? undefined : draft.title;
    const begun = await this.withNewRun(actor, draft, input, async run => {
      await this.requireRoom(draft, run);
      const sent = sentView(run, draft.id, NEXT);
      return (await this.acceptance.begin(draft, { ...run, title }, sent)) ? sent : undefined;
    });
    if (begun) return begun;
    // Another request made the chat since we looked: it is one like any other.
    const made = await this.existing(actor, input);
    if (!made) throw new Conflict('chat_id is taken; leave it out to get a new one');
    return this.sendTo(actor, made, input);
  }

  private sendTo(actor: Actor, chat: ExistingChat, input: SendMessage): Promise<SentView> {
    return this.withNewRun(actor, chat, input, async run => {
      await this.requireRoom(chat, run);
      return this.database.transaction(unit => this.accept(unit, chat, run));
    });
  }

  /** A run that sends a message hands over a task: it has a chat of its own, and ends with the run at the latest. */
  private async sendFrom(sender: ActingRun, actor: Actor, input: SendMessage): Promise<SentView> {
    if (input.chat_id && (await this.existing(actor, input)))
      throw new Conflict('A run starts tasks, each in a new chat; leave chat_id out');
    const chat = await this.chats.draft(actor, chatOf(input), 'agent.run');
    return this.withNewRun(actor, chat, input, async run => {
      await this.requireRoom(chat, run);
      await this.tasks.start(sender, chat, run);
      return sentView(run, chat.id, NEXT);
    });
  }

  /** Throws BudgetReached where a budget has no room for the first model call of the run. */
  private requireRoom({ organization_id, workspace_id }: RunChat, { models, text }: NewRun): Promise<void> {
    const scope = { organizationId: organization_id, workspaceId: workspace_id };
    const { price = null } = this.catalog.describe(models.model) ?? {};
    return this.budgets.requireRoom(scope, estimateUsd(price, Buffer.byteLength(text)));
  }

  private async accept(unit: UnitOfWork, chat: ExistingChat, run: NewRun): Promise<SentView> {
    const pending = await this.deliveries.lock(unit, chat.id, run.delivery);
    const title = titleOf(run.text);
    const isNamed = isUnnamed(chat) && (await this.chatsStore.entitle(unit, chat.id, title));
    await this.acceptance.add(unit, chat, isNamed ? { ...run, title } : run);
    const placed = await this.deliveries.deliver(unit, { ...run, chatId: chat.id }, run.delivery, pending);
    return unit.answers(sentView(run, chat.id, placed));
  }

  /** The chat that the message names, if it is there and the caller may send to it. */
  private async existing(actor: Actor, input: SendMessage): Promise<ExistingChat | undefined> {
    const id = input.chat_id;
    if (!id) return undefined;
    if (!(await this.chatsStore.exists(id))) return undefined;
    const row = await this.chatsStore.require(actor, 'agent.run', id);
    if (row.task_of)
      throw new Conflict('This chat belongs to a task of another run; send to the chat of that run');
    refuseOther('workspace_id', input.workspace_id?.toLowerCase(), row.workspace_id);
    refuseOther('organization_id', input.organization_id?.toLowerCase(), row.organization_id);
    refuseOther('agent_name', input.agent_name, row.agent_name);
    return row;
  }

  /** Runs `store` with the run that a message starts, all of it checked, while room for what it brings is kept. */
  private async withNewRun<T>(
    actor: Actor,
    chat: RunChat,
    input: SendMessage,
    store: (run: NewRun) => Promise<T>,
  ): Promise<T> {
    const models = await this.allowedModels(actor, chat, input);
    const { delivery = 'queue', on_approval: onApproval = null, budget, message: text } = input;
    const { response_schema: responseSchema, attachments: paths = [] } = input;
    const ids = { callId: newId(), messageId: newId() };
    const run = { ...ids, actor, models, text, budget, delivery, onApproval, responseSchema };
    if (paths.length === 0) return store({ ...run, attachments: [] });
    return this.attachments.during(actor, chat, paths, models.model, attachments =>
      store({ ...run, attachments }),
    );
  }

  /** The models of the run: such as may be used, with a price where the run's own budget needs one. */
  private async allowedModels(actor: Actor, chat: RunChat, input: SendMessage): Promise<RunModels> {
    const models = await this.modelsFor(actor, chat, input);
    const unpriced = this.catalog.unpriced([models.model, ...models.fallback]);
    if (input.budget?.cost_usd !== undefined && unpriced)
      throw new Invalid(`budget.cost_usd cannot be kept: the price of ${unpriced} is not known here`);
    return models;
  }

  private async modelsFor(
    actor: Actor,
    { organization_id: organizationId, workspace_id: workspaceId, agent_name: agentName, model }: RunChat,
    { model: asked, fallback_models: fallback }: SendMessage,
  ): Promise<RunModels> {
    const chosen = asked ?? model;
    if (chosen || !workspaceId || !agentName)
      return this.models.resolveAll(organizationId, { model: chosen, fallback });
    const agent = await this.subagents.require(actor, workspaceId, agentName);
    const field = `agent_name: the model of the agent ${agentName}`;
    return this.models.resolveAll(organizationId, { model: agent.model, field, fallback });
  }
}

function sentView({ callId, messageId, delivery }: NewRun, chat_id: string, placed: QueuePosition): SentView {
  return {
    call_id: callId,
    chat_id,
    message_id: messageId,
    status: 'pending',
    delivery,
    queue_position: placed.position,
    ...(placed.into ? { into_call_id: placed.into } : {}),
  };
}

function refuseOther(field: string, asked: string | undefined, actual: string | null): void {
  if (asked !== undefined && asked !== actual) throw new Invalid(`${field} is not that of the chat`);
}

type ExistingChat = RunChat & Pick<Row<'chat'>, 'title' | 'last_message_at'>;

const isTitled = ({ title }: SendMessage): boolean => (title ?? '').trim() !== '';

/** The new chat of a message; its model is that of the run alone. */
const chatOf = (input: SendMessage): CreateChat => ({
  ...input,
  title: isTitled(input) ? input.title : titleOf(input.message),
  model: undefined,
});
