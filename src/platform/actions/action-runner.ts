import { Injectable } from '@nestjs/common';
import { answeringWith, Database } from '../database/index.js';
import { NotFound, Problem, problemOf } from '../errors/index.js';
import { declarationFor } from './action.js';
import type { ActionCaller } from './action-caller.js';
import { ActionCatalog } from './action-catalog.js';
import { ActionLedger, type BegunRun, type Recorded } from './action-ledger.js';
import type { CatalogAction } from './catalog-action.js';
import { NO_TENANT, Subjects, type Tenant } from './subject.js';

/** Names the run in the ledger, with a refusal. */
const ACTION_RUN_HEADER = 'action-run-id';

/** A call of an action, by whatever way it came. */
export interface ActionCall {
  readonly name: string;
  readonly input?: unknown;
  /** The workspace that is meant where the input names none. */
  readonly workspaceId?: string;
  /** Checks everything and does nothing. */
  readonly dryRun?: boolean;
  /** Ends an action that can be cancelled. */
  readonly signal?: AbortSignal;
}

export interface ActionResult {
  readonly run_id: string;
  readonly status: 'completed' | 'validated';
  readonly output: unknown;
}

/** A call that could be run as it is. */
export interface CheckedCall {
  readonly action: CatalogAction;
  /** As the action takes it. */
  readonly input: object;
  readonly tenant: Tenant;
}

class Nothing {}

/** What is known of a name that no action has. */
const NO_ACTION = { effect: null, input: null, output: Nothing };

/** Runs actions: the one way for every surface but a plain route, with the same checks and one record. */
@Injectable()
export class ActionRunner {
  constructor(
    private readonly catalog: ActionCatalog,
    private readonly subjects: Subjects,
    private readonly ledger: ActionLedger,
    private readonly database: Database,
  ) {}

  /** What the action refuses is thrown, as the problem that a route would answer with, and names the run. */
  async run(caller: ActionCaller, call: ActionCall): Promise<ActionResult> {
    const action = await this.require(caller, call);
    const { dryRun = false } = call;
    const begun = { action, caller, dryRun, tenant: NO_TENANT, input: call.input };
    const { input, tenant } = await this.prepare(begun, call, 'tenant');
    if (dryRun) return this.tryOut({ ...begun, tenant, input }, input, call.signal);
    return this.perform({ ...begun, tenant, input }, input, call.signal);
  }

  /** Checks everything that {@link run} would, and does nothing; only a refusal is written down. */
  async check(caller: ActionCaller, call: ActionCall): Promise<CheckedCall> {
    const action = await this.require(caller, call);
    const begun = { action, caller, dryRun: true, tenant: NO_TENANT, input: call.input };
    return { action, ...(await this.prepare(begun, call, 'check')) };
  }

  /** Does something that is no action of the catalog, like a tool, and writes it down as if it were one. */
  async recorded<Output>(
    caller: ActionCaller,
    what: { action: Recorded; input: unknown; workspaceId: string; tenantOf: () => Promise<Tenant> },
    work: () => Promise<Output>,
  ): Promise<Output> {
    const { action, input, workspaceId, tenantOf } = what;
    const begun = { action, caller, dryRun: false, tenant: NO_TENANT, input };
    let tenant: Tenant;
    try {
      tenant = await tenantOf();
    } catch (error) {
      const seenAt = await this.subjects.tenantOfWorkspace(caller.actor, workspaceId);
      throw named(error, await this.ledger.note({ ...begun, tenant: seenAt }, { status: 'error', error }));
    }
    return (await this.noted({ ...begun, tenant }, work)).output;
  }

  /**
   * Records a refused call, with what it names and the reason; returns the error, with the id of the record. An error that
   * has such an id is recorded already.
   */
  async refuse(caller: ActionCaller, call: ActionCall, error: unknown): Promise<unknown> {
    if (problemOf(error)?.headers[ACTION_RUN_HEADER] !== undefined) return error;
    const begun = { caller, dryRun: call.dryRun ?? false, ...(await this.known(caller, call)) };
    return named(error, await this.ledger.note(begun, { status: 'error', error }));
  }

  /** What there is to say of a call that is refused. Without an action nothing says what of its input is secret. */
  private async known(
    { actor, workspaceId: its }: ActionCaller,
    { name, input, workspaceId = its ?? undefined }: ActionCall,
  ): Promise<Pick<BegunRun, 'action' | 'tenant' | 'input'>> {
    const action = this.catalog.get(name);
    if (!action) {
      const tenant =
        workspaceId === undefined ? NO_TENANT : await this.subjects.tenantOfWorkspace(actor, workspaceId);
      return { action: { name, declaration: NO_ACTION }, tenant, input: undefined };
    }
    const names = action.namesIn(input, workspaceId ?? null);
    return { action, tenant: await this.subjects.tenant(actor, action.declaration, names), input };
  }

  /** The action; that there is none is written down. */
  private async require(caller: ActionCaller, call: ActionCall): Promise<CatalogAction> {
    const action = this.catalog.get(call.name);
    if (action) return action;
    throw await this.refuse(caller, call, new NotFound(`There is no action ${call.name.slice(0, 64)}`));
  }

  private async prepare(
    begun: BegunRun & { action: CatalogAction },
    call: ActionCall,
    look: 'check' | 'tenant',
  ): Promise<{ input: object; tenant: Tenant }> {
    const { action, caller } = begun;
    try {
      caller.requireMayRun(declarationFor(action.declaration, call.input));
      const input = action.readInput(call.input, call.workspaceId ?? caller.workspaceId);
      return { input, tenant: await this.subjects[look](caller.actor, action.declaration, input) };
    } catch (error) {
      throw await this.refuse(caller, call, error);
    }
  }

  private async perform(
    begun: BegunRun & { action: CatalogAction },
    input: object,
    signal: AbortSignal | undefined,
  ): Promise<ActionResult> {
    const { action, caller } = begun;
    const { run_id, output } = await this.noted(begun, async () =>
      action.invoke(caller.actor, input, signal),
    );
    return { run_id, status: 'completed', output };
  }

  /** What it would refuse is refused, and nothing is done. */
  private async tryOut(
    begun: BegunRun & { action: CatalogAction },
    input: object,
    signal: AbortSignal | undefined,
  ): Promise<ActionResult> {
    const { action, caller } = begun;
    try {
      await this.database.dryRun(async () => action.invoke(caller.actor, input, signal));
    } catch (error) {
      throw named(error, await this.ledger.note(begun, { status: 'error', error }));
    }
    const run_id = await this.ledger.note(begun, { status: 'validated' });
    return { run_id, status: 'validated', output: null };
  }

  /** Does it between the two entries of the ledger. */
  private async noted<Output>(
    begun: BegunRun,
    work: () => Promise<Output>,
  ): Promise<{ run_id: string; output: Output }> {
    const run_id = await this.ledger.begin(begun);
    try {
      const output = await answeringWith(part => ({ run_id, status: 'completed', output: part }), work);
      await this.ledger.end(run_id, begun.action, { status: 'completed', output });
      return { run_id, output };
    } catch (error) {
      await this.ledger.end(run_id, begun.action, { status: 'error', error });
      throw named(error, run_id);
    }
  }
}

/** The refusal with the run's name on it; a fault of ours stays what it is. */
function named(error: unknown, runId: string): unknown {
  const problem = problemOf(error);
  if (!problem) return error;
  const headers = { ...problem.headers, [ACTION_RUN_HEADER]: runId };
  return new Problem(problem.status, problem.detail, headers);
}
