import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Database, iso, type Row } from '../../platform/database/index.js';
import { type Page, pageById } from '../../platform/dto/index.js';
import type { ListSessions, SessionView } from './sessions.dto.js';

/** The sessions that a person may look at. */
@Injectable()
export class SessionsStore {
  constructor(private readonly database: Database) {}

  /** The live sessions of the caller, newest first. */
  list(actor: Actor, input: ListSessions): Promise<Page<SessionView>> {
    const sessions = this.database.tables().selectFrom('session').selectAll().where('user_id', '=', actor.id);
    const live = sessions.where('revoked_at', 'is', null).where('expires_at', '>', new Date().toISOString());
    return pageById(live, input, row => sessionView(row, actor), { newestFirst: true });
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
