import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { validate as isUuid } from 'uuid';
import type { Answer, QuestionStore } from '#libs/mcp-http/index.js';
import { Database } from '../../../platform/database/index.js';
import { defineTopic, notifyTopic, Subscription, Topics } from '../../../platform/topics/index.js';

const topicOf = defineTopic('mcp-question');

/** What the clients of sessions are asked. */
@Injectable()
export class McpQuestionsStore implements QuestionStore {
  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
  ) {}

  async ask(id: string, sessionId: string): Promise<void> {
    await sql`insert into mcp_question (id, session_id, asked_at) values (${id}, ${sessionId}, now())`.execute(
      this.tables,
    );
  }

  async answer(sessionId: string, id: unknown, answer: Answer): Promise<void> {
    if (!isUuid(id)) return;
    await sql`
      update mcp_question set answer = ${JSON.stringify(answer)}::jsonb
      where id = ${String(id)} and session_id = ${sessionId} and answer is null
      returning ${notifyTopic(topicOf(String(id)))}`.execute(this.tables);
  }

  async answerTo(id: string): Promise<Answer | null | undefined> {
    const { rows } = await sql<{ answer: Answer | null }>`
      select answer from mcp_question where id = ${id}`.execute(this.tables);
    return rows[0]?.answer;
  }

  async forget(id: string): Promise<void> {
    await sql`delete from mcp_question where id = ${id}`.execute(this.tables);
  }

  wakeUp(id: string): Subscription {
    return new Subscription(this.topics, topicOf(id));
  }

  private get tables() {
    return this.database.tables();
  }
}
