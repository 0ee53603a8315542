import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { Chain } from '../../platform/access/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { defineTopic, notifyTopic } from '../../platform/topics/index.js';

declare global {
  interface ColumnTypes {
    'operation.chain': Chain;
  }
}

export const OPERATION_STATES = ['queued', 'running', 'completed', 'error', 'cancelled'] as const;
export type OperationState = (typeof OPERATION_STATES)[number];

/** A kind leaves out what it does not count. */
export interface Progress {
  readonly done?: number;
  readonly total?: number | null;
  readonly bytes_done?: number;
  readonly bytes_total?: number | null;
  readonly skipped?: readonly string[];
}

export interface Result {
  readonly workspace_id: string;
  /** How it came out, for kinds that can complete in more than one way. */
  readonly outcome?: string;
}

/** A kind of long work, with its input. */
export interface OperationKind<Input extends object> {
  readonly kind: string;
  /** The error message for an unexpected failure. */
  readonly failed: string;
  /** Type only. */
  readonly input?: Input;
}

export const defineOperation = <Input extends object>(
  kind: string,
  failed: string,
): OperationKind<Input> => ({ kind, failed });

export interface Operation<Input extends object = object> {
  readonly id: string;
  readonly kind: string;
  readonly state: OperationState;
  readonly actor_id: string;
  readonly organization_id: string;
  /** The workspace; everyone who sees it sees the operation. */
  readonly subject_id: string;
  readonly input: Input;
  readonly progress: Progress;
  readonly result: Result | null;
  readonly error: string | null;
  readonly cancel_requested: boolean;
  /** Rises with each change from 1; the id of its event. */
  readonly version: number;
}

export const isOver = ({ state }: Pick<Operation, 'state'>): boolean =>
  state !== 'queued' && state !== 'running';

type Queries = Pick<Database, 'tables'>;
export type End =
  | { readonly state: 'completed'; readonly result: Result | null }
  | { readonly state: 'error'; readonly error: string }
  | { readonly state: 'cancelled' };

export const operationTopic = defineTopic('operation');

/** A change to one that has ended returns undefined. */
@Injectable()
export class OperationsStore {
  constructor(private readonly database: Database) {}

  async find(id: string, within: Queries = this.database): Promise<Operation | undefined> {
    const { rows } = await sql<Operation>`select * from operation where id = ${id}`.execute(within.tables());
    return rows[0];
  }

  async countUnderWay(organizationId: string, { kind }: OperationKind<object>): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from operation
      where organization_id = ${organizationId} and kind = ${kind} and state in ('queued', 'running')`.execute(
      this.database.tables(),
    );
    return rows[0]?.count ?? 0;
  }

  async add<I extends object>(
    unit: UnitOfWork,
    { kind }: OperationKind<I>,
    row: Pick<Operation<I>, 'id' | 'actor_id' | 'organization_id' | 'subject_id' | 'input'> & {
      chain?: Chain;
    },
  ): Promise<void> {
    await sql`
      insert into operation (id, kind, state, actor_id, organization_id, subject_id, input, chain, created_at)
      values (${row.id}, ${kind}, 'queued', ${row.actor_id}, ${row.organization_id}, ${row.subject_id},
        ${JSON.stringify(row.input)}::jsonb, ${row.chain ? JSON.stringify(row.chain) : null}::jsonb, now())`.execute(
      unit.tables(),
    );
  }

  report(id: string, progress: Progress): Promise<Operation | undefined> {
    return this.change(
      id,
      sql`state = 'running', progress = ${JSON.stringify(progress)}::jsonb`,
      this.database,
    );
  }

  requestCancel(unit: UnitOfWork, id: string): Promise<Operation | undefined> {
    return this.change(id, sql`cancel_requested = true`, unit);
  }

  end(unit: UnitOfWork, id: string, end: End): Promise<Operation | undefined> {
    const result = end.state === 'completed' && end.result ? JSON.stringify(end.result) : null;
    const error = end.state === 'error' ? end.error : null;
    return this.change(
      id,
      sql`state = ${end.state}, result = ${result}::jsonb, error = ${error}, finished_at = now()`,
      unit,
    );
  }

  /** Notifies watchers. */
  private async change(
    id: string,
    change: RawBuilder<unknown>,
    within: Queries,
  ): Promise<Operation | undefined> {
    const { rows } = await sql<Operation>`
      with changed as (
        update operation set ${change}, version = version + 1
        where id = ${id} and state in ('queued', 'running') returning *
      )
      select changed.*, ${notifyTopic(operationTopic(id))}::text from changed`.execute(within.tables());
    return rows[0];
  }
}
