import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import type { Page } from '../../platform/dto/index.js';
import { ById } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { ActionRunPage, ActionRunSummary, ActionRunView, ListActionRuns } from './action-runs.dto.js';
import { ActionRunsStore, summaryOf } from './action-runs.store.js';

/** What was run through the catalog, by whatever caller: one ledger. */
@Injectable()
export class ActionRunsService {
  constructor(private readonly runs: ActionRunsStore) {}

  @Action('action_run_list', 'GET /api/action-runs', {
    summary: 'List runs of actions, newest first: your own, and all of organizations that you administer',
    permission: 'action_run.read',
    input: ListActionRuns,
    output: ActionRunPage,
  })
  async list(actor: Actor, input: ListActionRuns): Promise<Page<ActionRunSummary>> {
    requireScope(actor, 'action_run.read');
    return this.runs.list(actor, input);
  }

  @Action('action_run_get', 'GET /api/action-runs/:id', {
    on: { id: 'action_run' },
    summary: 'Read one run of an action, with its input and output',
    permission: 'action_run.read',
    input: ById({ id: 'The run' }),
    output: ActionRunView,
  })
  async read(actor: Actor, { id }: ById): Promise<ActionRunView> {
    requireScope(actor, 'action_run.read');
    const row = await this.runs.find(actor, id);
    if (!row) throw new NotFound('No such run of an action');
    return { ...summaryOf(row), input: row.input, output: row.output };
  }
}
