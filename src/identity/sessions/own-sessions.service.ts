import { LockMode } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, iso, Row, UnitOfWork } from '../../platform/database/index.js';
import { DEFAULT_LIMIT, DeletedView, decodeCursor, Page, pageOf } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { Session } from './session.entity.js';
import { EndedSessionsView, EndSessions, ListSessions, SessionId, SessionView } from './sessions.dto.js';
import { SessionsService } from './sessions.service.js';

/** Where the caller is signed in. */
@Injectable()
export class OwnSessionsService {
  constructor(
    private readonly database: Database,
    private readonly sessions: SessionsService,
    private readonly audit: Audit,
  ) {}

  /** The live ones, newest first. */
  async list(actor: Actor, { limit = DEFAULT_LIMIT, cursor }: ListSessions): Promise<Page<SessionView>> {
    const [before] = decodeCursor(cursor, 'id');
    const query = this.database
      .tables()
      .selectFrom('session')
      .selectAll()
      .where('user_id', '=', actor.id)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', new Date().toISOString())
      .orderBy('id', 'desc')
      .limit(limit + 1);
    const rows = await (before ? query.where('id', '<', before) : query).execute();
    return pageOf(
      rows,
      limit,
      row => sessionView(row, actor),
      row => [row.id],
    );
  }

  /** Ends one, at once; 404 for one that is not the caller's or has ended. */
  async end(actor: Actor, { id }: SessionId): Promise<DeletedView> {
    await this.database.transaction(async unit => {
      const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
      const session = await unit.entities.findOne(Session, { id, userId: actor.id }, lock);
      if (!session?.isLive) throw new NotFound('No such session');
      session.revoke();
      await this.note(unit, actor, 'session_revoke', id);
    });
    return DeletedView.of(id);
  }

  /** Ends all but the one that asks, or that one too. */
  async endAll(actor: Actor, { current = false }: EndSessions): Promise<EndedSessionsView> {
    return this.database.transaction(async unit => {
      const ended = await this.sessions.endAll(unit, actor.id, current ? undefined : actor.credential.id);
      if (ended > 0) await this.note(unit, actor, 'session_revoke_all', actor.id, { ended, current });
      return { ended };
    });
  }

  private async note(
    unit: UnitOfWork,
    actor: Actor,
    action: string,
    target_id: string,
    details: Record<string, unknown> = {},
  ): Promise<void> {
    const target_type = action === 'session_revoke' ? 'session' : 'user';
    await this.audit.record(unit, actor, { action, target_type, target_id, organization_id: null, details });
  }
}

function sessionView(row: Row<'session'>, actor: Actor): SessionView {
  const { id, user_agent, address } = row;
  return {
    id,
    current: id === actor.credential.id,
    user_agent,
    address,
    created_at: iso(row.created_at),
    last_used_at: iso(row.last_used_at),
    expires_at: iso(row.expires_at),
  };
}
