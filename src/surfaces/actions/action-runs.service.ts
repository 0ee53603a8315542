import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { iso, isoOrNull, type Row } from '../../platform/database/index.js';
import { DEFAULT_LIMIT, decodeCursor, type Page, pageOf } from '../../platform/dto/index.js';
import { Invalid, NotFound } from '../../platform/errors/index.js';
import {
  ActionRunId,
  ActionRunPage,
  ActionRunSummary,
  ActionRunView,
  ListActionRuns,
} from './action-runs.dto.js';
import { ActionRunsStore } from './action-runs.store.js';

/** What was run through the catalog, by whatever caller: one ledger. */
@Injectable()
export class ActionRunsService {
  constructor(private readonly runs: ActionRunsStore) {}

  @Action({
    name: 'action_run_list',
    route: 'GET /api/action-runs',
    summary: 'List runs of actions, newest first: your own, and all of organizations that you administer',
    effect: 'read',
    permission: 'action_run.read',
    input: ListActionRuns,
    output: ActionRunPage,
  })
  async list(actor: Actor, input: ListActionRuns): Promise<Page<ActionRunSummary>> {
    requireScope(actor, 'action_run.read');
    const { limit = DEFAULT_LIMIT, cursor, from, to, ...filter } = input;
    const [before] = decodeCursor(cursor, 'id');
    const rows = await this.runs.list(actor, {
      ...filter,
      from: from && instant('from', from),
      to: to && instant('to', to),
      before,
      limit: limit + 1,
    });
    return pageOf(rows, limit, summary, row => [row.id]);
  }

  @Action({
    name: 'action_run_get',
    route: 'GET /api/action-runs/:id',
    on: { id: 'action_run' },
    summary: 'Read one run of an action, with its input and output',
    effect: 'read',
    permission: 'action_run.read',
    input: ActionRunId,
    output: ActionRunView,
  })
  async read(actor: Actor, { id }: ActionRunId): Promise<ActionRunView> {
    requireScope(actor, 'action_run.read');
    const row = await this.runs.find(actor, id);
    if (!row) throw new NotFound('No such run of an action');
    return { ...summary(row), input: row.input, output: row.output };
  }
}

/** ISO 8601 knows forms, such as weeks, that name no instant by themselves. */
function instant(field: string, time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) throw new Invalid(`${field} must be a time, e.g. 2026-11-21T09:30:00Z`);
  return date.toISOString();
}

function summary(row: Row<'action_run'>): ActionRunSummary {
  const { id, action, effect, status, dry_run, surface, on_behalf_of_id, organization_id, workspace_id } =
    row;
  const { request_id, duration_ms, error } = row;
  return {
    id,
    action,
    effect,
    status,
    dry_run,
    surface,
    caller: { kind: row.caller_kind, id: row.caller_id },
    actor: { type: row.actor_type, id: row.actor_id, name: row.actor_name },
    on_behalf_of_id,
    credential: { type: row.credential_type, id: row.credential_id },
    organization_id,
    workspace_id,
    request_id,
    started_at: iso(row.started_at),
    finished_at: isoOrNull(row.finished_at),
    duration_ms,
    error,
  };
}
