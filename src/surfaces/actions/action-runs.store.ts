import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Actor, isAmong, namesReachable, organizationsOf } from '../../platform/access/index.js';
import { Database, type Row } from '../../platform/database/index.js';
import { type Page, pageById, readInstant, toView } from '../../platform/dto/index.js';
import { ActionRunSummary, type ListActionRuns } from './action-runs.dto.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The ledger, as far as the caller may see it. */
@Injectable()
export class ActionRunsStore {
  constructor(private readonly database: Database) {}

  async find(actor: Actor, id: string): Promise<Row<'action_run'> | undefined> {
    return (await this.visibleTo(actor)).where('id', '=', id).executeTakeFirst();
  }

  /** Newest first. */
  async list(actor: Actor, filter: ListActionRuns): Promise<Page<ActionRunSummary>> {
    const { caller, from, to } = filter;
    let query = await this.visibleTo(actor);
    for (const name of ['workspace_id', 'organization_id', 'action', 'status'] as const) {
      const value = filter[name];
      if (value !== undefined) query = query.where(name, '=', value as never);
    }
    if (caller)
      query = UUID.test(caller)
        ? query.where('caller_id', '=', caller.toLowerCase())
        : query.where('caller_kind', '=', caller);
    if (from) query = query.where('started_at', '>=', readInstant('from', from));
    if (to) query = query.where('started_at', '<', readInstant('to', to));
    return pageById(query, filter, summaryOf, { newestFirst: true });
  }

  /** What the caller did, and all of the organizations that they administer, as far as their credential reaches. */
  private async visibleTo(actor: Actor) {
    const { organization_id, workspace_ids } = actor.credential;
    const administered = await this.administeredBy(actor);
    let query = this.database
      .tables()
      .selectFrom('action_run')
      .selectAll()
      .where(({ or, eb }) =>
        or([eb('actor_id', '=', actor.id), sql<boolean>`organization_id = any(${administered}::uuid[])`]),
      )
      .where(namesReachable(actor));
    if (organization_id) query = query.where('organization_id', '=', organization_id);
    return query.where(isAmong('workspace_id', workspace_ids));
  }

  private async administeredBy(actor: Actor): Promise<string[]> {
    const rows = await this.database
      .tables()
      .selectFrom(organizationsOf(actor).as('o'))
      .select('o.organization_id')
      .where('o.role', 'in', ['owner', 'admin'])
      .execute();
    return rows.map(({ organization_id }) => organization_id);
  }
}

export function summaryOf(row: Row<'action_run'>): ActionRunSummary {
  const { request_id, duration_ms, error } = row;
  return toView(ActionRunSummary, row, {
    caller: { kind: row.caller_kind, id: row.caller_id },
    actor: { type: row.actor_type, id: row.actor_id, name: row.actor_name },
    credential: { type: row.credential_type, id: row.credential_id },
    request_id,
    duration_ms,
    error,
  });
}
