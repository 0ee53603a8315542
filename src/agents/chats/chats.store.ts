import { Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import type { Membership } from '../../identity/organizations/index.js';
import {
  type Actor,
  type Feature,
  type OrganizationRole,
  requireInWorkspace,
  type Visibility,
  type WorkspacePermission,
  type WorkspaceRole,
  workspaceRole,
} from '../../platform/access/index.js';
import { Subject } from '../../platform/actions/index.js';
import { Database, iso, isoOrNull, type Row, type Tables } from '../../platform/database/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { isVisibleTo, type Workspace, type WorkspaceMember } from '../../workspaces/core/index.js';
import type { Chat } from './chat.entity.js';
import type { ChatView } from './chats.dto.js';

type ChatTables = {
  chat: Chat;
  run: { id: string; chatId: string; number: string; status: string };
  workspace: Workspace;
  workspace_member: WorkspaceMember;
  membership: Membership;
};

/** What decides a caller's role in a chat. */
export interface ChatStanding {
  /** Who made the chat. */
  created_by: string;
  visibility: Visibility | null;
  workspace_created_by: string | null;
  organization_role: OrganizationRole;
  workspace_role: WorkspaceRole | null;
  /** What is turned off in its workspace; null where it has none. */
  features_off: Feature[] | null;
}

export interface ChatFilter {
  workspace_id?: string;
  organization_id?: string;
  archived?: boolean;
  pinned?: boolean;
  q?: string;
  after?: { createdAt: string; id: string };
  limit: number;
}

type NewestRun = { run_id: string | null; run_status: string | null };

/** Questions about chats, each asked together with who asks. */
@Injectable()
export class ChatsStore {
  constructor(private readonly database: Database) {}

  /**
   * The chat, if the caller may: 404 where they do not see it, 403 where their role in its workspace or their key is too
   * low. Inside a transaction, pass its tables.
   */
  @Subject('chat', 'workspace', ({ organization_id, workspace_id }: Row<Chat>) => ({
    organization_id,
    workspace_id,
  }))
  async require(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
    tables: Kysely<Tables<ChatTables>> = this.database.tables<ChatTables>(),
  ): Promise<Row<Chat> & ChatStanding> {
    const row = await this.standings(tables, actor).where('c.id', '=', id).executeTakeFirst();
    if (!row) throw new NotFound('No such chat');
    requireInChat(actor, permission, row, 'No such chat');
    return row;
  }

  /** The chats of people that the caller sees, newest first, from before `after`; those of tasks are found by their runs. */
  list(actor: Actor, filter: ChatFilter): Promise<(Row<Chat> & NewestRun)[]> {
    let query = this.standings(this.database.tables<ChatTables>(), actor)
      .where('c.task_of', 'is', null)
      .where(({ or, and, eb }) =>
        or([and([eb('c.workspace_id', 'is', null), eb('c.created_by', '=', actor.id)]), isVisibleTo(actor)]),
      )
      .leftJoinLateral(
        eb =>
          eb
            .selectFrom('run')
            .select(['id', 'status'])
            .whereRef('chat_id', '=', 'c.id')
            .orderBy('number', 'desc')
            .limit(1)
            .as('r'),
        join => join.onTrue(),
      )
      .select(['r.id as run_id', 'r.status as run_status'])
      .orderBy('c.created_at', 'desc')
      .orderBy('c.id', 'desc')
      .limit(filter.limit);
    const { after } = filter;
    if (filter.workspace_id) query = query.where('c.workspace_id', '=', filter.workspace_id);
    if (filter.organization_id) query = query.where('c.organization_id', '=', filter.organization_id);
    if (filter.archived !== undefined) query = query.where('c.archived', '=', filter.archived);
    if (filter.pinned !== undefined) query = query.where('c.pinned', '=', filter.pinned);
    if (filter.q) query = query.where(sql<boolean>`strpos(lower(c.title), lower(${filter.q})) > 0`);
    if (after)
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('c.created_at', 'c.id'), '<', tuple(after.createdAt, after.id)),
      );
    return query.execute();
  }

  /** The newest run of a chat. */
  async newestRun(chatId: string): Promise<NewestRun> {
    const run = await this.database
      .tables<ChatTables>()
      .selectFrom('run')
      .select(['id as run_id', 'status as run_status'])
      .where('chat_id', '=', chatId)
      .orderBy('number', 'desc')
      .limit(1)
      .executeTakeFirst();
    return run ?? { run_id: null, run_status: null };
  }

  /** Chats of the organizations the caller is in, with what decides their role there. */
  private standings(tables: Kysely<Tables<ChatTables>>, actor: Actor) {
    const { organization_id, workspace_ids } = actor.credential;
    let query = tables
      .selectFrom('chat as c')
      .innerJoin('membership as m', join =>
        join.onRef('m.organization_id', '=', 'c.organization_id').on('m.principal_id', '=', actor.id),
      )
      .leftJoin('workspace as w', 'w.id', 'c.workspace_id')
      .leftJoin('workspace_member as wm', join =>
        join.onRef('wm.workspace_id', '=', 'w.id').on('wm.principal_id', '=', actor.id),
      )
      .selectAll('c')
      .select(['w.visibility', 'w.created_by as workspace_created_by', 'w.features_off'])
      .select(['m.role as organization_role', 'wm.role as workspace_role']);
    if (organization_id) query = query.where('c.organization_id', '=', organization_id);
    if (workspace_ids) query = query.where('c.workspace_id', 'in', [...workspace_ids]);
    return query;
  }
}

/** Throws NotFound, saying `unseen`, where the caller does not see the chat, and Forbidden where they may not. */
export function requireInChat(
  actor: Actor,
  permission: WorkspacePermission,
  chat: ChatStanding,
  unseen: string,
): void {
  const role = chatRole(actor.id, chat);
  if (!role) throw new NotFound(unseen);
  requireInWorkspace(actor, permission, { role, features_off: chat.features_off ?? [] });
}

/** A chat in a workspace follows the workspace; one without is its creator's alone. */
function chatRole(actorId: string, chat: ChatStanding): WorkspaceRole | null {
  const { visibility, workspace_created_by, organization_role, workspace_role } = chat;
  if (visibility === null || workspace_created_by === null)
    return chat.created_by === actorId ? 'admin' : null;
  return workspaceRole(actorId, {
    visibility,
    created_by: workspace_created_by,
    organization_role,
    workspace_role,
  });
}

export function chatView(row: Row<Chat> & NewestRun): ChatView {
  const { id, title, organization_id, workspace_id, agent_name, model, pinned, archived, created_by } = row;
  return {
    id,
    title,
    organization_id,
    workspace_id,
    agent_name,
    model,
    pinned,
    archived,
    created_by,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
    last_message_at: isoOrNull(row.last_message_at),
    run: row.run_id && row.run_status ? { call_id: row.run_id, status: row.run_status } : null,
    ...(row.task_of === null ? {} : { parent_call_id: row.task_of }),
  };
}
