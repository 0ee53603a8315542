import { Injectable } from '@nestjs/common';
import { OrganizationsStore } from '../../identity/organizations/index.js';
import {
  type Actor,
  requireInWorkspace,
  requireScope,
  type WorkspacePermission,
} from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Database, iso, newId } from '../../platform/database/index.js';
import {
  ById,
  DEFAULT_LIMIT,
  DeletedView,
  decodeCursor,
  ListById,
  type Page,
  pageOf,
} from '../../platform/dto/index.js';
import { Conflict, Forbidden, Invalid } from '../../platform/errors/index.js';
import { Topics } from '../../platform/topics/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { ModelSettingsStore } from '../models/index.js';
import { PlansStore } from '../plans/index.js';
import { SubagentsService } from '../subagents/index.js';
import {
  ChatPage,
  ChatView,
  CreateChat,
  ListChats,
  MessagePage,
  MessageView,
  UpdateChat,
} from './chats.dto.js';
import { ChatsStore, chatTopic, chatView, type NewChat } from './chats.store.js';
import { MessagesStore, messageView } from './messages.store.js';
import { DEFAULT_TITLE } from './title.js';

/** Chat records. */
@Injectable()
export class ChatsService {
  constructor(
    private readonly database: Database,
    private readonly chats: ChatsStore,
    private readonly messages: MessagesStore,
    private readonly workspaces: WorkspacesStore,
    private readonly organizations: OrganizationsStore,
    private readonly models: ModelSettingsStore,
    private readonly subagents: SubagentsService,
    private readonly plans: PlansStore,
    private readonly topics: Topics,
  ) {}

  @Action('chat_create', 'POST /api/agent', {
    summary: 'Create the chat in which runs happen',
    effect: 'write',
    permission: 'chat.write',
    input: CreateChat,
    output: ChatView,
    commitsAnswer: true,
    makes: 'chat_id',
    refuses: { 404: 'No such organization, workspace or agent', 409: 'The chat_id is taken' },
  })
  async create(actor: Actor, input: CreateChat): Promise<ChatView> {
    const chat = await this.draft(actor, input);
    return this.database.transaction(async unit => {
      if (!(await this.chats.insert(unit, chat)))
        throw new Conflict('chat_id is taken; leave it out to get a new one');
      const row = await this.chats.require(actor, 'chat.read', chat.id, unit.tables());
      return unit.answers({
        ...chatView({ ...row, run_id: null, run_status: null }),
        plan: null,
        context: null,
      });
    });
  }

  /** The chat that the input describes, all of it checked, not yet stored; `also` is what else the caller is to do there. */
  async draft(actor: Actor, input: CreateChat, also?: WorkspacePermission): Promise<NewChat> {
    const { workspace_id, agent_name, title, chat_id, model } = input;
    if (agent_name !== undefined && !workspace_id)
      throw new Invalid('agent_name needs workspace_id: agents live in workspaces');
    const organizationId = await this.placeOf(actor, input, also);
    if (model !== undefined) await this.models.resolve(organizationId, model);
    if (workspace_id && agent_name !== undefined) {
      const agent = await this.subagents.require(actor, workspace_id, agent_name);
      if (!model)
        await this.models.resolve(
          organizationId,
          agent.model,
          `agent_name: the model of the agent ${agent_name}`,
        );
    }
    return {
      id: chat_id?.toLowerCase() ?? newId(),
      title: title?.trim() || DEFAULT_TITLE,
      organization_id: organizationId,
      workspace_id: workspace_id ?? null,
      agent_name: agent_name ?? null,
      model: model ?? null,
      created_by: actor.id,
      task_of: null,
    };
  }

  @Action('chat_list', 'GET /api/chats', {
    summary: 'List the chats that the caller sees, newest first',
    permission: 'chat.read',
    input: ListChats,
    output: ChatPage,
  })
  async list(actor: Actor, { limit = DEFAULT_LIMIT, cursor, ...filter }: ListChats): Promise<Page<ChatView>> {
    requireScope(actor, 'chat.read');
    const [createdAt, id] = decodeCursor(cursor, 'time', 'id');
    const after = createdAt && id ? { createdAt, id } : undefined;
    const rows = await this.chats.list(actor, { ...filter, after, limit: limit + 1 });
    return pageOf(rows, limit, chatView, row => [iso(row.created_at), row.id]);
  }

  @Action('chat_get', 'GET /api/chats/:id', {
    on: { id: 'chat' },
    summary: 'Read a chat',
    permission: 'chat.read',
    input: ById({ id: 'The chat' }),
    output: ChatView,
  })
  async read(actor: Actor, { id }: ById): Promise<ChatView> {
    const row = await this.chats.require(actor, 'chat.read', id);
    const [run, plan, context] = await Promise.all([
      this.chats.newestRun(id),
      this.plans.ofChat(id),
      this.chats.contextOf(id),
    ]);
    return { ...chatView({ ...row, ...run }), plan, context };
  }

  @Action('chat_message_list', 'GET /api/chats/:id/messages', {
    on: { id: 'chat' },
    summary: 'List the messages of a chat, oldest first',
    permission: 'chat.read',
    input: ListById({ id: 'The chat' }),
    output: MessagePage,
  })
  async listMessages(
    actor: Actor,
    { id, limit = DEFAULT_LIMIT, cursor }: ListById,
  ): Promise<Page<MessageView>> {
    await this.chats.require(actor, 'chat.read', id);
    const [runNumber, number] = decodeCursor(cursor, 'number', 'number');
    const after = runNumber && number ? { runNumber, number } : undefined;
    const rows = await this.messages.list(id, { after, limit: limit + 1 });
    return pageOf(rows, limit, messageView, row => [row.run_number, row.number]);
  }

  @Action('chat_update', 'PATCH /api/chats/:id', {
    on: { id: 'chat' },
    summary: 'Rename, pin or archive a chat, or choose its model',
    effect: 'write',
    permission: 'chat.write',
    input: UpdateChat,
    output: ChatView,
  })
  async update(actor: Actor, { id, title, pinned, archived, model }: UpdateChat): Promise<ChatView> {
    const { organization_id } = await this.chats.require(actor, 'chat.write', id);
    if (title !== undefined && title.trim() === '') throw new Invalid('title must not be blank');
    if (model) await this.models.resolve(organization_id, model);
    await this.chats.update(id, { title: title?.trim(), pinned, archived, model });
    return this.read(actor, { id });
  }

  @Action('chat_delete', 'DELETE /api/chats/:id', {
    on: { id: 'chat' },
    summary: 'Delete a chat with its messages and runs; a run in flight ends',
    consequence: 'Its messages and the records of its runs are gone for good.',
    permission: 'chat.write',
    input: ById({ id: 'The chat' }),
    output: DeletedView,
  })
  async delete(actor: Actor, { id }: ById): Promise<DeletedView> {
    await this.chats.require(actor, 'chat.write', id);
    await this.database.deletion(async unit => {
      await this.chats.delete(unit, id);
      await this.topics.publishOnCommit(unit, chatTopic(id));
    });
    return DeletedView.of(id);
  }

  /** Checks that the caller may have a chat in the place that the input names; returns its organization. */
  private async placeOf(
    actor: Actor,
    { workspace_id, organization_id }: CreateChat,
    also: WorkspacePermission | undefined,
  ): Promise<string> {
    if (workspace_id) {
      const workspace = await this.workspaces.require(actor, 'chat.write', workspace_id);
      if (also) requireInWorkspace(actor, also, workspace);
      if (organization_id && organization_id !== workspace.organization_id)
        throw new Invalid('organization_id is not the organization of the workspace');
      return workspace.organization_id;
    }
    requireScope(actor, 'chat.write');
    if (actor.credential.workspace_ids)
      throw new Forbidden('A key limited to some workspaces must name one as workspace_id');
    const id = organization_id ?? (await this.organizations.defaultFor(actor));
    return (await this.organizations.requireMember(actor, id)).id;
  }
}
