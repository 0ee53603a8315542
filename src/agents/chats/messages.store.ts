import type { LanguageModelV4TextPart } from '@ai-sdk/provider';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { StepContentPart } from '#libs/model-client/index.js';
import { Database, iso, type Row, type UnitOfWork } from '../../platform/database/index.js';
import type { AttachmentPart } from '../attachments/index.js';
import type { MessageView } from './chats.dto.js';

export type MessagePart = LanguageModelV4TextPart | StepContentPart | AttachmentPart;

/**
 * What a person wrote, or what the model answered in one step. Results of tools are kept with their calls. Messages of a
 * chat are read in the order of their runs, then in their own.
 */
export type StoredMessage = Row<'message'>;

declare global {
  interface ColumnTypes {
    'message.content': MessagePart[];
    'tool_call.images': AttachmentPart[] | null;
  }
}

/**
 * One call of a tool; its id is the model's own for it. planned: asked for by the model; started: may have happened;
 * finished: its result is known. It is marked as started before it happens, so that a crash never repeats it unawares.
 */
export type ToolCallRow = Row<'tool_call'>;

/** A message with the tool calls of its step. */
export type MessageRow = StoredMessage & { calls: ToolCallRow[] };

/** A tool call as models see it. */
export type SaidCall = Pick<ToolCallRow, 'call_id' | 'tool' | 'output' | 'is_error' | 'state' | 'images'>;

/** One message as models see it. */
export type Said = Pick<ConversationRow, 'role' | 'run_id' | 'step' | 'model' | 'content'> & {
  calls: SaidCall[];
};

/** What a model is given of a chat: messages, and first the summary of those before them, where there is one. */
export type ConversationRow = Omit<MessageRow, 'role'> & { role: MessageRow['role'] | 'summary' };

export interface QueuedRow {
  message_id: string;
  call_id: string;
  run_number: string;
  delivery: Row<'run'>['delivery'];
  /** How many runs of the chat come first. */
  position: number;
  text: string;
  created_at: string;
}

/** Which messages: those after a place in the order, those of runs up to a number. */
export interface MessageRange {
  after?: { runNumber: string; number: string };
  upTo?: string;
  limit?: number;
}

/** Reads conversations. */
@Injectable()
export class MessagesStore {
  constructor(private readonly database: Database) {}

  /** Messages of a chat, oldest first, from after `after`: two queries, however many there are. */
  async list(chatId: string, range: MessageRange = {}): Promise<MessageRow[]> {
    let query = this.database
      .tables()
      .selectFrom('message')
      .selectAll()
      .where('chat_id', '=', chatId)
      .orderBy('run_number')
      .orderBy('number');
    const { after, upTo } = range;
    if (after)
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('run_number', 'number'), '>', tuple(after.runNumber, after.number)),
      );
    if (upTo) query = query.where('run_number', '<=', upTo);
    if (range.limit) query = query.limit(range.limit);
    return this.withCalls(await query.execute());
  }

  /**
   * The conversation up to a run, as its model is given it: the newest summary, and the messages after it, or those from the
   * newest run on whose context is fresh; one query.
   */
  async conversation(chatId: string, upToRun: string): Promise<ConversationRow[]> {
    const fresh = sql`(
      select max(number) from run where chat_id = ${chatId} and fresh_context and number <= ${upToRun}::bigint)`;
    const { rows } = await sql<ConversationRow>`
      with newest as (
        select * from chat_summary where chat_id = ${chatId} and through_run <= ${upToRun}::bigint
          and through_run >= coalesce(${fresh}, 0)
        order by through_run desc, through_message desc, created_at desc limit 1
      )
      select id, chat_id, run_id, run_number, number, role, step, content, model, created_at, case when step is null then '[]'::json
        else (select coalesce(json_agg(c order by c.position), '[]') from tool_call c where c.run_id = message.run_id and c.step = message.step)
        end as calls
      from message where chat_id = ${chatId} and run_number <= ${upToRun}::bigint
        and (run_number, number) > (coalesce((select through_run from newest), ${fresh}, 0),
          coalesce((select through_message from newest), 0))
      union all
      select id, chat_id, run_id, through_run, through_message, 'summary', null, content, null, created_at, '[]'::json from newest
      order by run_number, number`.execute(this.database.tables());
    return rows;
  }

  /** The messages whose run has not begun, in order, from after the run with number `after`; or only the one of a message. */
  async queued(
    chatId: string,
    { after = '0', limit = 1, messageId }: { after?: string; limit?: number; messageId?: string },
    on: Pick<UnitOfWork, 'tables'> = this.database,
  ): Promise<QueuedRow[]> {
    const { rows } = await sql<QueuedRow>`
      with pending as (
        select *, (row_number() over (order by number) - 1)::int as position from run
        where chat_id = ${chatId} and status = 'pending' and merged_into is null
      )
      select m.id as message_id, r.id as call_id, r.number as run_number, r.delivery, r.position, m.created_at,
        (select string_agg(part ->> 'text', '') from jsonb_array_elements(m.content) part) as text
      from pending r join message m on m.run_id = r.id and m.role = 'user'
      where r.state = 'queued' and r.attempt = 0 and r.number > ${after}::bigint
        and (${messageId ?? null}::uuid is null or m.id = ${messageId ?? null}::uuid)
      order by r.number limit ${limit}`.execute(on.tables());
    return rows;
  }

  /** A message of a person or program. */
  find(id: string, on: Pick<UnitOfWork, 'tables'> = this.database): Promise<StoredMessage | undefined> {
    return on
      .tables()
      .selectFrom('message')
      .selectAll()
      .where('id', '=', id)
      .where('role', '=', 'user')
      .executeTakeFirst();
  }

  private async withCalls<M extends Pick<StoredMessage, 'run_id' | 'step'>>(
    messages: M[],
  ): Promise<(M & { calls: ToolCallRow[] })[]> {
    const calls = await this.callsOf(
      messages.filter(({ step }) => step !== null).map(({ run_id }) => run_id),
    );
    return messages.map(message => ({
      ...message,
      calls: calls.filter(call => call.run_id === message.run_id && call.step === message.step),
    }));
  }

  private async callsOf(runIds: string[]): Promise<ToolCallRow[]> {
    if (runIds.length === 0) return [];
    return this.database
      .tables()
      .selectFrom('tool_call')
      .selectAll()
      .where('run_id', 'in', [...new Set(runIds)])
      .orderBy('run_id')
      .orderBy('step')
      .orderBy('position')
      .execute();
  }
}

const textOf = (parts: MessagePart[], type: 'text' | 'reasoning') =>
  parts.map(part => (part.type === type ? part.text : '')).join('');

export function messageView(row: MessageRow): MessageView {
  return {
    id: row.id,
    role: row.role,
    text: textOf(row.content, 'text'),
    reasoning: textOf(row.content, 'reasoning') || null,
    attachments: row.content.flatMap(part =>
      part.type === 'attachment' ? [{ path: part.path, media_type: part.media_type, size: part.size }] : [],
    ),
    tool_calls: row.calls.map(({ call_id: id, tool, input, output, is_error }) => ({
      id,
      tool,
      input,
      output,
      is_error,
    })),
    call_id: row.run_id,
    created_at: iso(row.created_at),
  };
}
