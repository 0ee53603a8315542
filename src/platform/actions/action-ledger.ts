import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { cutText, redact, type Shape, storableText } from '#libs/fields/index.js';
import type { Effect } from '../access/index.js';
import { Database, newId } from '../database/index.js';
import { type Problem, problemOf } from '../errors/index.js';
import { requestOrigin } from '../http/index.js';
import { Chore } from '../jobs/index.js';
import { Log } from '../log/index.js';
import { declarationFor } from './action.js';
import type { ActionCaller } from './action-caller.js';
import type { Tenant } from './subject.js';

/** refused: it was not done, for the reason given with it; error: it failed. */
export const ACTION_RUN_STATUSES = ['running', 'completed', 'refused', 'error', 'validated'] as const;

/** An action in no more than this many hours has ended; one that is open longer was left by a process that died. */
const HOUR_MS = 3_600_000;
const LONGEST_HOURS = 6;

/** Longest name that is written down of what a caller says is an action, in characters. */
const MAX_NAME = 64;

export interface ActionRunError {
  status: number;
  detail: string;
}

declare global {
  interface ColumnTypes {
    'action_run.error': ActionRunError;
  }
}

/** What the record says of what was done: an action of the catalog, a tool, or a name that is neither. */
export interface Recorded {
  readonly name: string;
  readonly declaration: {
    readonly effect: Effect | null;
    readonly effectOf?: (input: Readonly<Record<string, unknown>>) => Effect;
    readonly input: Shape | null;
    readonly output: Shape;
  };
}

/** What is known of a run when it begins. */
export interface BegunRun {
  readonly action: Recorded;
  readonly caller: ActionCaller;
  readonly dryRun: boolean;
  readonly tenant: Tenant;
  readonly input: unknown;
}

type Ending =
  | { status: 'completed'; output: unknown }
  | { status: 'validated' }
  | { status: 'error'; error: unknown };

/** The record of every action that was run through the catalog. A row is added once and closed once. */
@Injectable()
export class ActionLedger {
  constructor(
    private readonly database: Database,
    private readonly log: Log,
  ) {}

  /** Writes down that it begins, before anything is done. */
  async begin(run: BegunRun): Promise<string> {
    const id = newId();
    await this.insert({ ...rowOf(run, id), status: 'running', started_at: new Date().toISOString() });
    return id;
  }

  /** Writes down how it ended. What was done is done: where it cannot be written, the log says so. */
  async end(id: string, action: Recorded, ending: Ending): Promise<void> {
    const { status, output, error } = endOf(action, ending);
    try {
      await sql`
        update action_run set status = ${status}, output = ${json(output)}::jsonb, error = ${json(error)}::jsonb,
          finished_at = now(), duration_ms = extract(epoch from now() - started_at) * 1000
        where id = ${id}`.execute(this.database.tables());
    } catch (failure) {
      this.log.error({ err: failure, action_run: id }, 'the end of an action could not be recorded');
    }
  }

  /** Writes down one that did nothing: it was refused before it began, or was a rehearsal. */
  async note(run: BegunRun, ending: Ending): Promise<string> {
    const id = newId();
    const now = new Date().toISOString();
    const { status, error } = endOf(run.action, ending);
    const times = { started_at: now, finished_at: now, duration_ms: 0 };
    await this.insert({ ...rowOf(run, id), status, error: json(error), ...times });
    return id;
  }

  /** Closes what processes that died have left open. */
  @Chore('action_runs', { everyMs: HOUR_MS })
  async closeAbandoned(): Promise<void> {
    const error = json({
      status: 500,
      detail: 'The process that ran it ended; whether it was done is not known',
    });
    await sql`
      update action_run set status = 'error', error = ${error}::jsonb, finished_at = now()
      where status = 'running' and started_at < now() - make_interval(hours => ${LONGEST_HOURS})`.execute(
      this.database.tables(),
    );
  }

  private async insert(values: Record<string, unknown>): Promise<void> {
    const columns = Object.keys(values).map(name => sql.ref(name));
    await sql`insert into action_run (${sql.join(columns)}) values (${sql.join(Object.values(values))})`.execute(
      this.database.tables(),
    );
  }
}

function rowOf({ action, caller, dryRun, tenant, input }: BegunRun, id: string): Record<string, unknown> {
  const { actor, surface, kind, isProgram } = caller;
  return {
    id,
    action: storableText(action.name.slice(0, MAX_NAME)),
    effect: declarationFor(action.declaration, input).effect,
    dry_run: dryRun,
    surface,
    caller_kind: kind,
    caller_id: caller.id,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    on_behalf_of_id: isProgram ? actor.id : null,
    credential_type: actor.credential.type,
    credential_id: actor.credential.id,
    organization_id: tenant.organization_id,
    workspace_id: tenant.workspace_id,
    request_id: requestOrigin()?.request_id ?? null,
    input: json(redact(action.declaration.input, input)),
  };
}

function endOf({ declaration }: Recorded, ending: Ending) {
  const output = ending.status === 'completed' ? redact(declaration.output, ending.output) : null;
  const error = ending.status === 'error' ? errorOf(ending.error) : null;
  const isRefusal = error !== null && error.status < 500;
  return { status: isRefusal ? ('refused' as const) : ending.status, output, error };
}

function errorOf(error: unknown): ActionRunError {
  const problem: Problem | undefined = problemOf(error);
  return problem
    ? { status: problem.status, detail: cutText(problem.detail) }
    : { status: 500, detail: 'Internal server error' };
}

const json = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);
