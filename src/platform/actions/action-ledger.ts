import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { FieldSpec, fieldsOf, Shape } from '#libs/fields/index.js';
import type { Effect } from '../access/index.js';
import { Database, newId, storableText } from '../database/index.js';
import { type Problem, problemOf } from '../errors/index.js';
import { requestOrigin } from '../http/index.js';
import { Chore } from '../jobs/index.js';
import { Log } from '../log/index.js';
import type { ActionCaller } from './action-caller.js';
import type { Tenant } from './subject.js';

const HIDDEN = '[hidden]';
const SECRET_NAME =
  /(^|_)(password|passphrase|secret|token|api_key|private_key|credentials?|authorization|cookie)$/i;
const MAX_TEXT = 2_000;
const MAX_BYTES = 16_384;
const MAX_DEPTH = 32;
/** More than these take more bytes than are shown, whatever they are. */
const MAX_VALUES = 8_192;

/**
 * A value as a record of it may show it: without what its shape marks as secret or what is named like one, with long
 * texts cut. Of what is too large even so only the size is kept.
 */
export function redact(shape: Shape | null, value: unknown): unknown {
  const redaction = new Redaction();
  const shown = redaction.of(shape, value, 0);
  if (redaction.isTooLarge) return { left_out: `more than ${MAX_VALUES} values` };
  const bytes = Buffer.byteLength(JSON.stringify(shown) ?? '');
  return bytes > MAX_BYTES ? { left_out: `${bytes} bytes` } : shown;
}

/** A value as a person may read it who decides about it: all of it but what its shape marks as secret or what is named like one. */
export const withoutSecrets = (shape: Shape | null, value: unknown): unknown =>
  new Redaction(storableText, Number.POSITIVE_INFINITY).of(shape, value, 0);

/** Of one value; looks at no more of it than can be shown. */
class Redaction {
  private values = 0;

  constructor(
    private readonly text: (text: string) => string = cutText,
    private readonly maxValues: number = MAX_VALUES,
  ) {}

  get isTooLarge(): boolean {
    return this.values > this.maxValues;
  }

  of(shape: Shape | null, value: unknown, depth: number): unknown {
    this.values++;
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof Date) return value.toISOString();
    if (depth > MAX_DEPTH) return '…';
    if (Array.isArray(value)) return this.few(value).map(item => this.of(shape, item, depth + 1));
    const fields = shape ? fieldsOf(shape) : new Map<string, FieldSpec>();
    return Object.fromEntries(
      this.few(Object.entries(value)).map(([name, inner]) => {
        const spec = fields.get(name);
        const hides = inner !== null && inner !== undefined && isSecret(name, spec, inner);
        return [this.text(name), hides ? HIDDEN : this.of(spec?.shape?.() ?? null, inner, depth + 1)];
      }),
    );
  }

  /** Those of a list or an object that are looked at: none where there are too many to show any. */
  private few<T>(items: readonly T[]): readonly T[] {
    if (this.values + items.length <= this.maxValues) return items;
    this.values = this.maxValues + 1;
    return [];
  }
}

/** The name alone decides for text only: `token: 3` is a count. */
function isSecret(name: string, spec: FieldSpec | undefined, value: unknown): boolean {
  return (
    spec?.secret === true ||
    (SECRET_NAME.test(name) && typeof value !== 'number' && typeof value !== 'boolean')
  );
}

/** A text as a record of it may show it: not too long, and as jsonb can hold it. */
export function cutText(text: string): string {
  if (text.length <= MAX_TEXT) return storableText(text);
  return `${storableText(text.slice(0, MAX_TEXT))}… (${text.length - MAX_TEXT} characters more)`;
}

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
    effect: action.declaration.effect,
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
