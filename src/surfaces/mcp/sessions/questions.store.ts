import { randomUUID } from 'node:crypto';
import type { JSONRPCResponse } from '@modelcontextprotocol/server';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { validate as isUuid } from 'uuid';
import { Database } from '../../../platform/database/index.js';
import { Signals, WakeUp } from '../../../platform/topics/index.js';

/** What a client answered: a response of JSON-RPC without its id. */
export type Answer = Pick<JSONRPCResponse, 'jsonrpc'> & ({ result: unknown } | { error: unknown });

const topicOf = (id: string) => `mcp-question:${id}`;

/** A request of ours that a client was sent, and which it answers with a request of its own, to whichever process. */
export interface Question {
  readonly id: string;
  /** Its answer; undefined when `signal` was aborted before. */
  answered(signal: AbortSignal): Promise<Answer | undefined>;
}

/** What the clients of sessions are asked. */
@Injectable()
export class Questions {
  constructor(
    private readonly database: Database,
    private readonly signals: Signals,
  ) {}

  /** Writes down that the client of the session is asked something, under an id that nobody else has. */
  async ask(sessionId: string): Promise<Question> {
    const id = randomUUID();
    const wakeUp = new WakeUp(this.signals, topicOf(id));
    try {
      await sql`insert into mcp_question (id, session_id, asked_at) values (${id}, ${sessionId}, now())`.execute(
        this.tables,
      );
    } catch (error) {
      wakeUp.close();
      throw error;
    }
    return { id, answered: signal => this.await(id, wakeUp, signal) };
  }

  /** Takes an answer, the first one only; one to a question that this session was not asked is passed over. */
  async answer(sessionId: string, id: unknown, answer: Answer): Promise<void> {
    if (!isUuid(id)) return;
    await sql`
      update mcp_question set answer = ${JSON.stringify(answer)}::jsonb
      where id = ${String(id)} and session_id = ${sessionId} and answer is null
      returning pg_notify('atelier', ${topicOf(String(id))})`.execute(this.tables);
  }

  private async await(id: string, wakeUp: WakeUp, signal: AbortSignal): Promise<Answer | undefined> {
    try {
      for (;;) {
        const { rows } = await sql<{ answer: Answer | null }>`
          select answer from mcp_question where id = ${id}`.execute(this.tables);
        if (rows[0]?.answer) return rows[0].answer;
        if (rows.length === 0 || signal.aborted) return undefined;
        await wakeUp.wait(signal);
      }
    } finally {
      wakeUp.close();
      await sql`delete from mcp_question where id = ${id}`.execute(this.tables);
    }
  }

  private get tables() {
    return this.database.tables();
  }
}
