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
import type { ContextView } from './context-use.js';
import { DEFAULT_TITLE } from './title.js';

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

/** What a chat `c` of a query has to have. */
const matches: {
  [K in Exclude<keyof ChatFilter, 'after' | 'limit'>]: (value: ChatFilter[K]) => RawBuilder<unknown>;
} = {
  workspace_id: id => sql`c.workspace_id = ${id}`,
  organization_id: id => sql`c.organization_id = ${id}`,
  archived: value => sql`c.archived = ${value}`,
  pinned: value => sql`c.pinned = ${value}`,
  q: text => sql`strpos(lower(c.title), lower(${text})) > 0`,
};

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

  /**
   * The chats of people that the caller sees, newest first, from before `after`; those of tasks are found by their runs. Each
   * organization gives a page in the order of its index, of which only the rows that are shown are looked up.
   */
  async list(actor: Actor, { after, limit, ...filter }: ChatFilter): Promise<(Row<'chat'> & NewestRun)[]> {
    const conditions = [
      sql`c.organization_id = o.organization_id and c.task_of is null`,
      isAmong('c.workspace_id', actor.credential.workspace_ids),
      // As a join it would be made before the order, of all chats.
      sql`case when c.workspace_id is null then c.created_by = ${actor.id}
        else c.workspace_id in (select id from visible) end`,
      ...Object.entries(filter).flatMap(([name, value]) =>
        value === undefined ? [] : [matches[name as keyof typeof matches](value as never)],
      ),
      ...(after ? [sql`(c.created_at, c.id) < (${after.createdAt}, ${after.id})`] : []),
    ];
    const { rows } = await sql<Row<'chat'> & NewestRun>`
      with visible as materialized (select v.id from ${visibleTo(actor)} v),
      page as materialized (
        select p.* from ${organizationsOf(actor)} o cross join lateral (
          select c.id, c.created_at from chat c where ${sql.join(conditions, sql` and `)}
          order by c.created_at desc, c.id desc limit ${limit}) p
        order by created_at desc, id desc limit ${limit})
      select c.*, r.id as run_id, r.status as run_status from page join chat c on c.id = page.id
      left join lateral (select id, status from run where chat_id = c.id order by number desc limit 1) r on true
      order by page.created_at desc, page.id desc`.execute(this.database.tables());
    return rows;
  }

  async exists(id: string, within: Pick<Database, 'tables'> = this.database): Promise<boolean> {
    const row = await within.tables().selectFrom('chat').select('id').where('id', '=', id).executeTakeFirst();
    return row !== undefined;
  }

  /** Stores the chat, `withMessage` where its first one comes along, unless its id is taken; says whether it did. */
  async insert(unit: UnitOfWork, chat: NewChat, { withMessage = false } = {}): Promise<boolean> {
    const { id, title, organization_id, workspace_id, agent_name, model, created_by, task_of } = chat;
    // Pages of chats go by milliseconds.
    const now = sql`date_trunc('milliseconds', now())`;
    const { rows } = await sql`
      insert into chat (id, title, organization_id, workspace_id, agent_name, model, pinned, archived, created_by, created_at,
        updated_at, last_message_at, task_of)
      values (${id}, ${title}, ${organization_id}, ${workspace_id}, ${agent_name}, ${model}, false, false, ${created_by}, ${now},
        ${now}, ${withMessage ? sql`now()` : null}, ${task_of})
      on conflict do nothing returning id`.execute(unit.tables());
    return rows.length > 0;
  }

  /** A message has come in. */
  async noteMessage(unit: UnitOfWork, id: string): Promise<void> {
    await sql`update chat set last_message_at = now(), updated_at = now() where id = ${id}`.execute(
      unit.tables(),
    );
  }

  async update(id: string, changes: ChatChanges): Promise<void> {
    const set = { ...changes, updated_at: new Date().toISOString() };
    await this.database.transaction(unit =>
      unit.tables().updateTable('chat').set(set).where('id', '=', id).execute(),
    );
  }

  /** Gives a title to a chat that nobody has named, with its first message; says whether it did. */
  async entitle(unit: UnitOfWork, id: string, title: string): Promise<boolean> {
    const rows = await unit
      .tables()
      .updateTable('chat')
      .set({ title })
      .where('id', '=', id)
      .where('title', '=', DEFAULT_TITLE)
      .where('last_message_at', 'is', null)
      .returning('id')
      .execute();
    return rows.length > 0;
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

  /** How full its context is after the newest step of its runs. */
  async contextOf(chatId: string): Promise<ContextView | null> {
    const run = await this.database
      .tables()
      .selectFrom('run')
      .select('context')
      .where('chat_id', '=', chatId)
      .where('context', 'is not', null)
      .orderBy('number', 'desc')
      .limit(1)
      .executeTakeFirst();
    return run?.context ?? null;
  }
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
