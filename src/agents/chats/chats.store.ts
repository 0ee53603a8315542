import { Injectable } from '@nestjs/common';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import {
  type Actor,
  type Feature,
  isAmong,
  organizationsOf,
  requireInWorkspace,
  visibleTo,
  type WorkspacePermission,
  type WorkspaceRole,
  workspacesOf,
} from '../../platform/access/index.js';
import { Subject } from '../../platform/actions/index.js';
import {
  Database,
  iso,
  isoOrNull,
  type Row,
  type Schema,
  type UnitOfWork,
} from '../../platform/database/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { defineTopic } from '../../platform/topics/index.js';
import type { ChatView } from './chats.dto.js';

/** What a caller has in a chat: without a role they do not see it. */
export interface ChatStanding {
  role: WorkspaceRole | null;
  /** What is turned off in its workspace. */
  features_off: Feature[];
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

/** A chat that is not stored yet. */
export type NewChat = Pick<
  Row<'chat'>,
  'id' | 'title' | 'organization_id' | 'workspace_id' | 'agent_name' | 'model' | 'created_by' | 'task_of'
>;

type ChatChanges = Partial<Pick<Row<'chat'>, 'title' | 'pinned' | 'archived' | 'model'>>;

/** Published when a chat in which nothing was in flight has a run again, or is gone. */
export const chatTopic = defineTopic('chat');

type NewestRun = { run_id: string | null; run_status: string | null };

/** Questions about chats, each asked together with who asks. */
@Injectable()
export class ChatsStore {
  constructor(private readonly database: Database) {}

  /**
   * The chat, if the caller may: 404 where they do not see it, 403 where their role in its workspace or their key is too
   * low. Inside a transaction, pass its tables.
   */
  @Subject('chat', 'workspace', ({ organization_id, workspace_id }: Row<'chat'>) => ({
    organization_id,
    workspace_id,
  }))
  async require(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
    tables: Kysely<Schema> = this.database.tables(),
  ): Promise<Row<'chat'> & ChatStanding> {
    const row = await tables
      .selectFrom(chatsOf(actor).as('c'))
      .selectAll('c')
      .where('c.id', '=', id)
      .executeTakeFirst();
    if (!row) throw new NotFound('No such chat');
    requireInChat(actor, permission, row, 'No such chat');
    return row;
  }

  /** The chats of people that the caller sees, newest first, from before `after`; those of tasks are found by their runs. */
  list(actor: Actor, filter: ChatFilter): Promise<(Row<'chat'> & NewestRun)[]> {
    let query = this.database
      .tables()
      .selectFrom(chatsOf(actor, visibleTo(actor)).as('c'))
      .selectAll('c')
      .where('c.role', 'is not', null)
      .where('c.task_of', 'is', null)
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

  async exists(id: string, within: Pick<Database, 'tables'> = this.database): Promise<boolean> {
    const row = await within.tables().selectFrom('chat').select('id').where('id', '=', id).executeTakeFirst();
    return row !== undefined;
  }

  /** Stores the chat unless its id is taken; says whether it did. */
  async insert(unit: UnitOfWork, chat: NewChat): Promise<boolean> {
    const { rows } = await newChatRow(chat, sql`true`, sql`null`).execute(unit.tables());
    return rows.length > 0;
  }

  async update(id: string, changes: ChatChanges): Promise<void> {
    const set = { ...changes, updated_at: new Date().toISOString() };
    await this.database.transaction(unit =>
      unit.tables().updateTable('chat').set(set).where('id', '=', id).execute(),
    );
  }

  async delete(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('chat').where('id', '=', id).execute();
  }

  /** The newest run of a chat. */
  async newestRun(chatId: string): Promise<NewestRun> {
    const run = await this.database
      .tables()
      .selectFrom('run')
      .select(['id as run_id', 'status as run_status'])
      .where('chat_id', '=', chatId)
      .orderBy('number', 'desc')
      .limit(1)
      .executeTakeFirst();
    return run ?? { run_id: null, run_status: null };
  }
}

/** The statement that stores a chat where `condition` holds and its id is free; it gives the id. */
export function newChatRow(
  chat: NewChat,
  condition: RawBuilder<unknown>,
  lastMessageAt: RawBuilder<unknown> = sql`now()`,
): RawBuilder<unknown> {
  const { id, title, organization_id, workspace_id, agent_name, model, created_by, task_of } = chat;
  // Pages of chats go by milliseconds.
  const now = sql`date_trunc('milliseconds', now())`;
  return sql`
    insert into chat (id, title, organization_id, workspace_id, agent_name, model, pinned, archived, created_by, created_at,
      updated_at, last_message_at, task_of)
    select ${id}, ${title}, ${organization_id}, ${workspace_id}, ${agent_name}, ${model}, false, false, ${created_by}, ${now},
      ${now}, ${lastMessageAt}, ${task_of} where ${condition}
    on conflict do nothing returning id`;
}

/**
 * The chats of the caller's organizations that their credential reaches, with their role there: in a workspace the one that
 * they have in it, else that of an admin for who made the chat. To select from or to join.
 */
export function chatsOf(
  actor: Actor,
  workspaces = workspacesOf(actor),
): RawBuilder<Row<'chat'> & ChatStanding> {
  return sql`(select c.*, coalesce(w.features_off, '{}') as features_off,
      case when c.workspace_id is not null then w.role when c.created_by = ${actor.id} then 'admin' end as role
    from chat c join ${organizationsOf(actor)} o on o.organization_id = c.organization_id
    left join ${workspaces} w on w.id = c.workspace_id
    where ${isAmong('c.workspace_id', actor.credential.workspace_ids)})`;
}

/** Throws NotFound, saying `unseen`, where the caller does not see the chat, and Forbidden where they may not. */
export function requireInChat(
  actor: Actor,
  permission: WorkspacePermission,
  { role, features_off }: ChatStanding,
  unseen: string,
): void {
  if (!role) throw new NotFound(unseen);
  requireInWorkspace(actor, permission, { role, features_off });
}

export function chatView(row: Row<'chat'> & NewestRun): ChatView {
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
