import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../platform/access/index.js';
import {
  Action,
  ActionCaller,
  ActionCatalog,
  ActionListing,
  ActionRunner,
  type CatalogAction,
  declarationFor,
  permissionToRun,
} from '../../platform/actions/index.js';
import { DEFAULT_LIMIT, decodeCursor, type Page, pageOf } from '../../platform/dto/index.js';
import {
  ActionName,
  ActionPage,
  ActionResultView,
  ActionView,
  ExecuteAction,
  FindActions,
  RunAction,
  SearchActions,
} from './actions.dto.js';

const RUNS = {
  402: 'A budget is reached',
  403: 'The action asks for more than the caller may; Action-Run-Id names the refusal in the ledger',
  404: 'No such action, or nothing that its input names',
  409: 'The action refuses, as things are',
  412: 'The action refuses, as a precondition failed',
};

/** The catalog, for callers with a credential of their own and for programs with an exec token. */
@Injectable()
export class ActionsService {
  constructor(
    private readonly catalog: ActionCatalog,
    private readonly runner: ActionRunner,
    private readonly listing: ActionListing,
  ) {}

  @Action('action_search', 'GET /api/actions', {
    summary: 'Find actions that you could run by words, the best match first; all of them without words',
    description:
      'Those that your credential and your role in the workspace allow; without a workspace_id, your role in any place.',
    permission: 'action.read',
    input: SearchActions,
    output: ActionPage,
    restOnly: true,
    refuses: { 404: 'No such workspace' },
  })
  async search(actor: Actor, { workspace_id, ...query }: SearchActions): Promise<Page<ActionView>> {
    requireScope(actor, 'action.read');
    const found = await this.listing.of(ActionCaller.direct(actor, 'rest'), {
      ...query,
      workspaceId: workspace_id,
    });
    return page(found, query);
  }

  @Action('action_get', 'GET /api/actions/:name', {
    summary: 'Describe an action, with the JSON Schemas of its input and output',
    permission: 'action.read',
    input: ActionName,
    output: ActionView,
    restOnly: true,
  })
  async read(actor: Actor, { name }: ActionName): Promise<ActionView> {
    requireScope(actor, 'action.read');
    return this.catalog.require(name).describe();
  }

  @Action('action_run', {
    summary: 'Run an action, or only check whether it could be run',
    permission: 'action.run',
    input: RunAction,
    output: ActionResultView,
    evidence: 'look at GET /api/action-runs and at what it was to change',
    restOnly: true,
    refuses: RUNS,
  })
  async run(actor: Actor, { name, input, workspace_id, dry_run }: RunAction): Promise<ActionResultView> {
    const call = { name, input, workspaceId: workspace_id, dryRun: dry_run };
    const caller = ActionCaller.direct(actor, 'rest');
    const { effect } = declarationFor(this.catalog.require(name).declaration, input);
    try {
      requireScope(actor, permissionToRun(effect));
    } catch (error) {
      throw await this.runner.refuse(caller, call, error);
    }
    return this.runner.run(caller, call);
  }

  @Action('action_exec_list', {
    summary: 'List the actions that the exec token may run, the best match first',
    effect: 'read',
    permission: null,
    input: FindActions,
    output: ActionPage,
    restOnly: true,
  })
  async listFor(caller: ActionCaller, query: FindActions): Promise<Page<ActionView>> {
    return page(await this.listing.of(caller, query), query);
  }

  @Action('action_exec_get', {
    summary: 'Describe an action that the exec token may run',
    effect: 'read',
    permission: null,
    input: ActionName,
    output: ActionView,
    restOnly: true,
  })
  async readFor(caller: ActionCaller, { name }: ActionName): Promise<ActionView> {
    const action = this.catalog.require(name);
    caller.requireMayRun(declarationFor(action.declaration));
    return action.describe();
  }

  @Action('action_exec_run', {
    summary: 'Run an action with an exec token, in its workspace',
    effect: 'write',
    permission: null,
    input: ExecuteAction,
    output: ActionResultView,
    evidence: 'look at GET /api/action-runs and at what it was to change',
    restOnly: true,
    refuses: RUNS,
  })
  async runFor(caller: ActionCaller, { name, input, dry_run }: ExecuteAction): Promise<ActionResultView> {
    return this.runner.run(caller, { name, input, dryRun: dry_run });
  }
}

/** A page of a list that is at hand as a whole; its cursor is a position. */
function page(
  actions: CatalogAction[],
  { limit = DEFAULT_LIMIT, cursor }: Pick<FindActions, 'limit' | 'cursor'>,
): Page<ActionView> {
  const from = Number(decodeCursor(cursor, 'number')[0] ?? 0);
  const rows = actions.map((action, position) => ({ action, position })).slice(from, from + limit + 1);
  return pageOf(
    rows,
    limit,
    ({ action }) => action.describe(),
    ({ position }) => [position + 1],
  );
}
