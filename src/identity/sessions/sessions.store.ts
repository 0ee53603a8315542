import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Actor } from '../../platform/access/index.js';
import { Database, newId, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { type Page, pageById, toView } from '../../platform/dto/index.js';
import { type ListSessions, SessionView } from './sessions.dto.js';

const MAX_USER_AGENT = 500;
/** How long a session that has ended is kept: a refresh token of it that turns up is still known for what it is. */
const KEPT_DAYS = 30;

/** Where a sign-in came from. */
export interface SignInSource {
  userAgent: string | undefined;
  address: string;
}

/**
 * Sessions: one for each sign-in of a person, live until it expires or is revoked; and their refresh tokens, of which a hash
 * is kept. Each token is usable once, and every use extends its session.
 */
@Injectable()
export class SessionsStore {
  constructor(private readonly database: Database) {}

  /** The live sessions of the caller, newest first. */
  list(actor: Actor, input: ListSessions): Promise<Page<SessionView>> {
    const sessions = this.database.tables().selectFrom('session').selectAll().where('user_id', '=', actor.id);
    const live = sessions.where('revoked_at', 'is', null).where('expires_at', '>', new Date().toISOString());
    return pageById(live, input, row => sessionView(row, actor), { newestFirst: true });
  }

  /** Adds a session; answers what is kept of it. */
  async insert(unit: UnitOfWork, userId: string, from: SignInSource, seconds: number) {
    const [id, user_agent] = [newId(), from.userAgent?.slice(0, MAX_USER_AGENT) ?? null];
    await sql`
      insert into session (id, user_id, user_agent, address, created_at, last_used_at, expires_at)
      values (${id}, ${userId}, ${user_agent}, ${from.address}, now(), now(), now() + make_interval(secs => ${seconds}))`.execute(
      unit.tables(),
    );
    return { id, user_agent };
  }

  async addToken(unit: UnitOfWork, sessionId: string, hash: string): Promise<void> {
    await sql`
      insert into refresh_token (hash, session_id, created_at) values (${hash}, ${sessionId}, now())`.execute(
      unit.tables(),
    );
  }

  /** Locks a refresh token: of two uses at once the second waits, and sees that it was used. */
  async lockToken(unit: UnitOfWork, hash: string): Promise<Row<'refresh_token'> | undefined> {
    const query = unit.tables().selectFrom('refresh_token').selectAll().where('hash', '=', hash);
    return query.forUpdate().executeTakeFirst();
  }

  /** The user of a live session. */
  async userOf(unit: UnitOfWork, id: string): Promise<string | undefined> {
    const { rows } = await sql<{ user_id: string }>`
      select user_id from session where id = ${id} and revoked_at is null and expires_at > now()`.execute(
      unit.tables(),
    );
    return rows[0]?.user_id;
  }

  async useToken(
    unit: UnitOfWork,
    { hash, session_id }: Row<'refresh_token'>,
    seconds: number,
  ): Promise<void> {
    await sql`update refresh_token set used_at = now() where hash = ${hash}`.execute(unit.tables());
    await sql`
      update session set last_used_at = now(), expires_at = now() + make_interval(secs => ${seconds})
      where id = ${session_id}`.execute(unit.tables());
  }

  /** Revokes the session that a refresh token belongs to. */
  async revokeByToken(unit: UnitOfWork, hash: string): Promise<void> {
    await sql`
      update session set revoked_at = now()
      where revoked_at is null and id = (select session_id from refresh_token where hash = ${hash})`.execute(
      unit.tables(),
    );
  }

  /** Revokes a live session of a user; false where there is no such session. */
  async revoke(unit: UnitOfWork, userId: string, id: string): Promise<boolean> {
    const { rows } = await sql`
      update session set revoked_at = now()
      where id = ${id} and user_id = ${userId} and revoked_at is null and expires_at > now() returning id`.execute(
      unit.tables(),
    );
    return rows.length > 0;
  }

  /** Revokes all live sessions of a user but the one to keep; answers how many. */
  async revokeAll(unit: UnitOfWork, userId: string, kept: string | undefined): Promise<number> {
    const { rows } = await sql`
      update session set revoked_at = now()
      where user_id = ${userId} and id is distinct from ${kept ?? null}::uuid and revoked_at is null and expires_at > now()
      returning id`.execute(unit.tables());
    return rows.length;
  }

  async deleteEnded(): Promise<void> {
    await sql`
      delete from session where least(expires_at, revoked_at) < now() - make_interval(days => ${KEPT_DAYS})`.execute(
      this.database.tables(),
    );
  }
}

function sessionView(row: Row<'session'>, actor: Actor): SessionView {
  const { id } = row;
  return toView(SessionView, row, { current: id === actor.credential.id });
}
