import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, type UnitOfWork } from '../../platform/database/index.js';

export const OPERATION_STATUSES = ['queued', 'running', 'completed', 'error', 'cancelled'] as const;

export interface OperationRow {
  readonly id: string;
  readonly kind: string;
  readonly status: (typeof OPERATION_STATUSES)[number];
  readonly actor_id: string;
  readonly organization_id: string;
  readonly source_id: string;
  readonly target_id: string;
  readonly visibility: string;
  readonly done: number;
  readonly total: number | null;
  readonly bytes_done: string;
  readonly bytes_total: string | null;
  readonly skipped: string[];
  readonly error: string | null;
  readonly cancel_requested: boolean;
  /** From 1, rising with each change: the number of its event. */
  readonly version: number;
}

export const operationTopic = (id: string): string => `operation:${id}`;
export const isOver = ({ status }: Pick<OperationRow, 'status'>): boolean =>
  status !== 'queued' && status !== 'running';

/** Rows of long operations. */
@Injectable()
export class OperationsStore {
  constructor(private readonly database: Database) {}

  async find(id: string): Promise<OperationRow | undefined> {
    const { rows } = await sql<OperationRow>`select * from operation where id = ${id}`.execute(
      this.database.tables(),
    );
    return rows[0];
  }

  /** How many of an organization are not over. */
  async underWayIn(organizationId: string): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from operation
      where organization_id = ${organizationId} and status in ('queued', 'running')`.execute(
      this.database.tables(),
    );
    return rows[0]?.count ?? 0;
  }

  async add(
    unit: UnitOfWork,
    row: Pick<
      OperationRow,
      'id' | 'kind' | 'actor_id' | 'organization_id' | 'source_id' | 'target_id' | 'visibility'
    >,
  ): Promise<void> {
    await sql`insert into operation
      (id, kind, status, actor_id, organization_id, source_id, target_id, visibility, created_at)
      values (${row.id}, ${row.kind}, 'queued', ${row.actor_id}, ${row.organization_id}, ${row.source_id},
        ${row.target_id}, ${row.visibility}, now())`.execute(unit.tables());
  }

  /** Changes one that is not over, and wakes who watches; undefined where it is over, or gone. */
  async change(
    id: string,
    change: RawBuilder<unknown>,
    within: Pick<Database, 'tables'> = this.database,
  ): Promise<OperationRow | undefined> {
    const { rows } = await sql<OperationRow>`
      with changed as (
        update operation set ${change}, version = version + 1
        where id = ${id} and status in ('queued', 'running') returning *
      )
      select changed.*, pg_notify('atelier', ${operationTopic(id)})::text from changed`.execute(
      within.tables(),
    );
    return rows[0];
  }
}
