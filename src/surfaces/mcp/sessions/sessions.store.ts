import { randomUUID } from 'node:crypto';
import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { validate as isUuid } from 'uuid';
import {
  type Answer,
  type Cancellations,
  type McpSession,
  type QuestionStore,
  type SessionClient,
  type SessionState,
  type SessionStore,
} from '#libs/mcp-http/index.js';
import { Database } from '../../../platform/database/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { defineTopic, notifyTopic, Subscription, Topics } from '../../../platform/topics/index.js';

const cancelTopic = defineTopic('mcp-cancel');

/** Tells whichever process works on a request that its client has taken it back. */
@Injectable()
export class McpCancellations implements Cancellations {
  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
  ) {}

  async cancel(name: string): Promise<void> {
    await this.database.transaction(unit => this.topics.publishOnCommit(unit, cancelTopic(name)));
  }

  onCancel(name: string, listener: () => void): () => void {
    return this.topics.subscribe(cancelTopic(name), wasPublished => {
      if (wasPublished) listener();
    });
  }
}

const questionTopic = defineTopic('mcp-question');

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
      returning ${notifyTopic(questionTopic(String(id)))}`.execute(this.tables);
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
    return new Subscription(this.topics, questionTopic(id));
  }

  private get tables() {
    return this.database.tables();
  }
}

interface SessionRow {
  id: string;
  principal_id: string;
  protocol_version: string;
  client: SessionClient;
  stale: boolean;
}

const UNUSED_DAYS = 7;
/** Sessions of one principal beyond this many end, those unused longest first. */
const MAX_OF_ONE = 200;
/** How long a process uses what it read of a session. */
const KNOWN_MS = 60_000;
const MAX_KNOWN = 10_000;
const HOUR_MS = 3_600_000;
/** Published when a session ends, so that every process forgets what it knows of sessions. */
const ENDED = defineTopic('mcp-session-ended')();

/** Published when the subscriptions of a session change, or its stream. */
const sessionTopic = defineTopic('mcp-session');

/** The sessions that are open. */
@Injectable()
export class McpSessionsStore implements SessionStore, OnApplicationBootstrap {
  private readonly known = new LRUCache<string, McpSession>({ max: MAX_KNOWN, ttl: KNOWN_MS });

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
  ) {}

  onApplicationBootstrap(): void {
    this.topics.subscribe(ENDED, () => this.known.clear());
  }

  async begin(ownerId: string, protocolVersion: string, client: SessionClient): Promise<McpSession> {
    // The specification wants ids that cannot be guessed (transports, session management): no UUIDv7.
    const session: McpSession = { id: randomUUID(), ownerId, protocolVersion, client };
    await sql`
      insert into mcp_session (id, principal_id, protocol_version, client, created_at, seen_at)
      values (${session.id}, ${ownerId}, ${protocolVersion}, ${JSON.stringify(client)}::jsonb, now(), now())`.execute(
      this.tables,
    );
    await sql`
      delete from mcp_session where id in (
        select id from mcp_session where principal_id = ${ownerId} order by seen_at desc offset ${MAX_OF_ONE}
      )`.execute(this.tables);
    return session;
  }

  async find(id: string): Promise<McpSession | undefined> {
    return this.known.get(id) ?? this.read(id);
  }

  /** Undefined once it has ended. */
  async state(id: string): Promise<SessionState | undefined> {
    const { rows } = await sql<{ subscriptions: string[]; stream_id: string | null }>`
      select subscriptions, stream_id from mcp_session where id = ${id}`.execute(this.tables);
    const [row] = rows;
    return row && { subscriptions: row.subscriptions, streamId: row.stream_id };
  }

  /** False where the session follows `max` other resources. */
  async subscribe(id: string, uri: string, max: number): Promise<boolean> {
    const { rows } = await sql`
      update mcp_session set subscriptions = array_append(array_remove(subscriptions, ${uri}), ${uri})
      where id = ${id} and (${uri} = any(subscriptions) or cardinality(subscriptions) < ${max})
      returning ${notifyTopic(sessionTopic(id))}`.execute(this.tables);
    return rows.length > 0;
  }

  async unsubscribe(id: string, uri: string): Promise<void> {
    await sql`
      update mcp_session set subscriptions = array_remove(subscriptions, ${uri}) where id = ${id}
      returning ${notifyTopic(sessionTopic(id))}`.execute(this.tables);
  }

  /** Makes this the stream that tells the session; one before it ends. Whether there was one. */
  async takeStream(id: string, streamId: string): Promise<boolean> {
    const { rows } = await sql<{ before: string | null }>`
      with old as (select stream_id from mcp_session where id = ${id} for update)
      update mcp_session set stream_id = ${streamId}, seen_at = now() from old where id = ${id}
      returning old.stream_id as before, ${notifyTopic(sessionTopic(id))}`.execute(this.tables);
    return rows.some(({ before }) => before !== null);
  }

  async end({ id }: McpSession): Promise<void> {
    await sql`
      delete from mcp_session where id = ${id}
      returning ${notifyTopic(ENDED)}, ${notifyTopic(sessionTopic(id))}`.execute(this.tables);
    this.known.delete(id);
  }

  wakeUp(id: string): Subscription {
    return new Subscription(this.topics, sessionTopic(id));
  }

  private async read(id: string): Promise<McpSession | undefined> {
    if (!isUuid(id)) return undefined;
    const { rows } = await sql<SessionRow>`
      select id, principal_id, protocol_version, client, seen_at < now() - interval '1 hour' as stale
      from mcp_session where id = ${id}`.execute(this.tables);
    const [row] = rows;
    if (!row) return undefined;
    if (row.stale) await sql`update mcp_session set seen_at = now() where id = ${id}`.execute(this.tables);
    const { principal_id: ownerId, protocol_version: protocolVersion, client } = row;
    const session = { id, ownerId, protocolVersion, client };
    this.known.set(id, session);
    return session;
  }

  @Chore('mcp-unused-sessions', { everyMs: HOUR_MS })
  async deleteUnused(): Promise<void> {
    await sql`delete from mcp_session where seen_at < now() - make_interval(days => ${UNUSED_DAYS})`.execute(
      this.tables,
    );
  }

  private get tables() {
    return this.database.tables();
  }
}
