import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { StepUsage } from '#libs/model-client/index.js';
import { Database, iso, storable, type UnitOfWork } from '../../platform/database/index.js';
import type { MessagePart } from './messages.store.js';

/** A summary that stands for the messages of a chat up to a place in their order; the messages themselves stay. */
export interface ChatSummary {
  /** The run and the step before which it was made. */
  readonly runId: string;
  readonly step: number;
  /** The last message that it stands for. */
  readonly throughRun: string;
  readonly throughMessage: string;
  /** The summary, and the request under way where that is among what it stands for. */
  readonly content: MessagePart[];
  /** What was changed in the workspace so far. */
  readonly files: string[];
  readonly messageCount: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** The model that wrote it; null: it was put together without one. */
  readonly model: string | null;
  readonly usage: StepUsage | null;
  readonly costUsd: number | null;
  readonly createdAt: Date;
}

/** What a summary was made of, and what it cost, as run records show it. */
export interface CompactionRow {
  step: number;
  messages: number;
  tokens_before: number;
  tokens_after: number;
  model: string | null;
  usage: ChatSummary['usage'];
  cost_usd: number | null;
  created_at: string;
}

/** Summaries of chats, and the facts that go into them. */
@Injectable()
export class ChatSummariesStore {
  constructor(private readonly database: Database) {}

  /** The first message of a chat. */
  async firstMessage(chatId: string): Promise<MessagePart[]> {
    const { rows } = await sql<{ content: MessagePart[] }>`
      select content from message where chat_id = ${chatId} order by run_number, number limit 1`.execute(
      this.database.tables(),
    );
    return rows[0]?.content ?? [];
  }

  /** What the newest summary of a chat knew of changed files, and what these runs changed since. */
  async filesChanged(chatId: string, runIds: readonly string[], most: number): Promise<string[]> {
    const { rows } = await sql<{ path: string }>`
      select path from (
        select unnest(files) as path, false as is_new from (
          select files from chat_summary where chat_id = ${chatId}
          order by through_run desc, through_message desc, created_at desc limit 1) newest
        union all
        select e.data ->> 'path', true
        from run_event row cross join lateral events_of_row(row.id, row.events) e
        where row.run_id = any(${runIds}::uuid[]) and e.type = 'file.changed'
      ) known where path is not null group by path order by bool_or(is_new) desc, path limit ${most}`.execute(
      this.database.tables(),
    );
    return rows.map(({ path }) => path);
  }

  /** What was read of the workspace, the last first. */
  async filesRead(chatId: string, most: number): Promise<string[]> {
    const { rows } = await sql<{ path: string }>`
      select c.input ->> 'path' as path from tool_call c join run r on r.id = c.run_id
      where ${inContext(chatId)} and c.tool = 'read_file' and c.state = 'finished' and not c.is_error
        and c.input ->> 'path' is not null
      group by 1 order by max(r.number) desc, max(c.step) desc limit ${most}`.execute(this.database.tables());
    return rows.map(({ path }) => path);
  }

  /** What people answered when they were asked, the last first. */
  async answers(chatId: string, most: number): Promise<{ question: string; answer: string }[]> {
    const { rows } = await sql<{ question: string; answer: string }>`
      select c.input ->> 'question' as question, c.output as answer from tool_call c join run r on r.id = c.run_id
      where ${inContext(chatId)} and c.tool = 'ask' and c.state = 'finished' and not c.is_error
        and c.input ->> 'question' is not null
      order by r.number desc, c.step desc, c.position desc limit ${most}`.execute(this.database.tables());
    return rows;
  }

  /** The compactions that a run made, in order. */
  async ofRun(runId: string): Promise<CompactionRow[]> {
    const { rows } = await sql<CompactionRow>`
      select step, message_count as messages, tokens_before, tokens_after, model, usage, cost_usd, created_at
      from chat_summary where run_id = ${runId} order by created_at`.execute(this.database.tables());
    return rows.map(row => ({ ...row, created_at: iso(row.created_at) }));
  }
}

/** Of a chat, the runs `r` that its newest run sees. */
const inContext = (chatId: string): RawBuilder<boolean> => sql`r.chat_id = ${chatId} and r.number >= coalesce(
  (select max(f.number) from run f where f.chat_id = ${chatId} and f.fresh_context), 0)`;

/** Keeps a summary of the chat of its run. */
export async function keepSummary(unit: UnitOfWork, chatId: string, summary: ChatSummary): Promise<void> {
  await sql`
    insert into chat_summary (chat_id, run_id, step, through_run, through_message, content, files, message_count, tokens_before,
      tokens_after, model, usage, cost_usd, created_at)
    values (${chatId}, ${summary.runId}, ${summary.step}, ${summary.throughRun}::bigint, ${summary.throughMessage}::bigint,
      ${storable(summary.content)}::jsonb, ${summary.files}::text[], ${summary.messageCount}, ${summary.tokensBefore},
      ${summary.tokensAfter}, ${summary.model}, ${summary.usage && JSON.stringify(summary.usage)}::jsonb,
      ${summary.costUsd}::float8, now())`.execute(unit.tables());
}
