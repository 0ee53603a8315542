import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { iso, type Row } from '../../platform/database/rows.js';
import type { ToolCall } from '../agent/tool-call.entity.js';
import type { MessageView } from './chats.dto.js';
import type { Message, MessagePart } from './message.entity.js';

type MessageTables = { message: Message; tool_call: ToolCall };

/** A message with the tool calls of its step. */
export type MessageRow = Row<Message> & { calls: Row<ToolCall>[] };

/** Which messages: those after a place in the order, those of runs up to a number. */
export interface MessageRange {
  after?: { runNumber: string; number: string };
  upTo?: string;
  limit?: number;
}

/** Reads conversations. */
@Injectable()
export class MessagesStore {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Messages of a chat, oldest first, from after `after`: two queries, however many there are. */
  async list(chatId: string, range: MessageRange = {}): Promise<MessageRow[]> {
    let query = this.database
      .tables<MessageTables>()
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
    const messages = await query.execute();
    const calls = await this.callsOf(
      messages.filter(({ step }) => step !== null).map(({ run_id }) => run_id),
    );
    return messages.map(message => ({
      ...message,
      calls: calls.filter(call => call.run_id === message.run_id && call.step === message.step),
    }));
  }

  private async callsOf(runIds: string[]): Promise<Row<ToolCall>[]> {
    if (runIds.length === 0) return [];
    return this.database
      .tables<MessageTables>()
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
