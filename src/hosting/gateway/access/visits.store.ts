import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { roleOf } from '../../../platform/access/index.js';
import { Database, newId, type Row } from '../../../platform/database/index.js';
import { type HostedTarget } from '../hosts/hosted-targets.js';
import type { Onlooker } from './access-policy.js';

/** Lifetime of a visit, and of the ticket that starts one. */
const VISIT_HOURS = 12;
const TICKET_SECONDS = 60;

export type VisitKind = 'sign_in' | 'password' | 'link';

type Target = Pick<HostedTarget, 'kind' | 'id' | 'workspaceId'>;

export interface VisitRow extends Pick<Row<'hosted_visit'>, 'id' | 'policy_version' | 'session_id'> {
  readonly how: VisitKind;
  /** Null for visitors without an account. */
  readonly visitor: (Onlooker & { readonly name: string }) | null;
}

interface Found extends Pick<VisitRow, 'id' | 'how' | 'policy_version' | 'session_id'>, Onlooker {
  name: string | null;
}

export type SpentTicket = Pick<Row<'visit_ticket'>, 'user_id' | 'session_id' | 'path'>;

@Injectable()
export class VisitsStore {
  constructor(private readonly database: Database) {}

  /** Undefined if the visit or its session has ended. */
  async find(hash: string, { kind, id }: Target): Promise<VisitRow | undefined> {
    const { rows } = await sql<Found>`
      select v.id, v.how, v.policy_version, v.session_id, v.user_id, u.name, u.email,
        u.email_verified_at is not null as email_verified, ${roleOf(sql.ref('v.user_id'))} as role,
        (select m.role from membership m where m.organization_id = w.organization_id and m.principal_id = v.user_id) as organization_role
      from hosted_visit v
        join workspace w on w.id = v.workspace_id
        left join session s on s.id = v.session_id
        left join "user" u on u.id = v.user_id
      where v.hash = ${hash} and v.target_kind = ${kind} and v.target_id = ${id} and v.expires_at > now()
        and (v.user_id is null or (s.user_id = v.user_id and s.revoked_at is null and s.expires_at > now()))`.execute(
      this.database.tables(),
    );
    const [row] = rows;
    if (!row) return undefined;
    const { id: visitId, how, policy_version, session_id, name, ...onlooker } = row;
    const visitor = onlooker.user_id && name !== null ? { ...onlooker, name } : null;
    return { id: visitId, how, policy_version: String(policy_version), session_id, visitor };
  }

  async onlooker(userId: string, { workspaceId }: Target): Promise<Onlooker | undefined> {
    const { rows } = await sql<Onlooker>`
      select u.id as user_id, u.email, u.email_verified_at is not null as email_verified, ${roleOf(sql.ref('u.id'))} as role,
        (select m.role from membership m where m.organization_id = w.organization_id and m.principal_id = u.id) as organization_role
      from "user" u cross join workspace w where u.id = ${userId} and w.id = ${workspaceId}`.execute(
      this.database.tables(),
    );
    return rows[0];
  }

  /** A visit of an outdated policy version does not count. */
  async begin(
    hash: string,
    { kind, id, workspaceId }: Target,
    visit: { how: VisitKind; userId?: string; sessionId?: string; policyVersion: string },
  ): Promise<void> {
    const { how, userId = null, sessionId = null, policyVersion } = visit;
    await sql`
      insert into hosted_visit (id, hash, target_kind, target_id, workspace_id, how, user_id, session_id, policy_version, expires_at)
      values (${newId()}, ${hash}, ${kind}, ${id}, ${workspaceId}, ${how}, ${userId}, ${sessionId}, ${policyVersion},
        now() + make_interval(hours => ${VISIT_HOURS}))`.execute(this.database.tables());
  }

  async end(hashes: readonly string[], targetId: string): Promise<boolean> {
    const { rows } = await sql`
      delete from hosted_visit where hash = any(${[...hashes]}::text[]) and target_id = ${targetId} returning id`.execute(
      this.database.tables(),
    );
    return rows.length > 0;
  }

  async addTicket(
    hash: string,
    { kind, id, workspaceId }: Target,
    ticket: { host: string; userId: string; sessionId: string; state: string; path: string },
  ): Promise<void> {
    const { host, userId, sessionId, state, path } = ticket;
    await sql`
      insert into visit_ticket (hash, target_kind, target_id, workspace_id, host, user_id, session_id, state, path, expires_at)
      values (${hash}, ${kind}, ${id}, ${workspaceId}, ${host}, ${userId}, ${sessionId}, ${state}, ${path},
        now() + make_interval(secs => ${TICKET_SECONDS}))`.execute(this.database.tables());
  }

  /** Spends a ticket once, if its browser and host match. Otherwise the ticket stays valid. */
  async spend(
    hash: string,
    { kind, id }: Target,
    host: string,
    states: readonly string[],
  ): Promise<SpentTicket | undefined> {
    const { rows } = await sql<SpentTicket>`
      update visit_ticket set used_at = now()
      where hash = ${hash} and target_kind = ${kind} and target_id = ${id} and host = ${host}
        and state = any(${[...states]}::text[]) and used_at is null and expires_at > now()
      returning user_id, session_id, path`.execute(this.database.tables());
    return rows[0];
  }

  async deleteEnded(): Promise<void> {
    await sql`
      with tickets as (delete from visit_ticket where expires_at < now() - interval '1 hour')
      delete from hosted_visit where expires_at < now()`.execute(this.database.tables());
  }
}
