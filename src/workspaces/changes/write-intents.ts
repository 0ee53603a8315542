import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import { type LeasedRows, Leases } from '../../platform/leases/index.js';
import { ChangeLog } from './change-log.js';
import { type Intent, replacedPaths, type Target } from './intent.js';
import { newestChange } from './of-workspace.js';
import type { Writer } from './writer.js';

/** A write that has begun, and what its beginning found. */
interface Beginning {
  readonly intent: Intent;
  /** What it overwrites is to be kept first. */
  readonly isAtRisk: boolean;
  /** Another process has something under way in the workspace, or had when it ended. */
  readonly isCrossed: boolean;
}

const AT_ONCE = 1000;

/** The table of writes that are under way. */
@Injectable()
export class WriteIntents {
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly leases: Leases,
    private readonly changes: ChangeLog,
  ) {
    this.rows = leases.rows('workspace_write');
  }

  /** Adds one, in the statement that also asks for what there is to do before. */
  async begin(
    id: string,
    workspaceId: string,
    writer: Writer,
    targets: readonly Target[],
  ): Promise<Beginning> {
    const paths = replacedPaths(targets);
    const risk = paths.length === 0 ? sql`false` : await this.changes.risk(workspaceId, writer, paths);
    const holder = this.leases.processId;
    const begun = new Date().toISOString();
    const { rows } = await sql<{ from_seq: string | null; risk: boolean; crossed: boolean }>`
      with begun as (
        insert into workspace_write
          (id, workspace_id, holder, writer_type, writer_id, targets, from_seq, began_at)
        select ${id}::uuid, id, ${holder}::uuid, ${writer.type}, ${writer.id},
          ${JSON.stringify(targets)}::jsonb,
          ${newestChange(workspaceId)}, ${begun}::timestamptz
        from workspace where id = ${workspaceId}
        returning from_seq
      )
      select (select from_seq from begun) as from_seq, ${risk} as risk, exists (
        select from workspace_write where workspace_id = ${workspaceId} and holder <> ${holder}::uuid
      ) as crossed`.execute(this.database.tables());
    const [row] = rows;
    return {
      intent: {
        id,
        workspace_id: workspaceId,
        writer_type: writer.type,
        writer_id: writer.id,
        targets,
        from_seq: row?.from_seq ?? '0',
        recorded: 0,
        began_at: begun,
      },
      isAtRisk: row?.risk !== false,
      isCrossed: row?.crossed !== false,
    };
  }

  /** One of them as it is by now; undefined: it is settled. */
  async find(id: string): Promise<Intent | undefined> {
    return (await this.select(sql`id = ${id}::uuid`))[0];
  }

  /** Those whose process is gone: of one workspace, or of all. */
  async lost(workspaceId?: string): Promise<Intent[]> {
    const rows = await this.select(
      sql`${workspaceId === undefined ? sql`true` : sql`workspace_id = ${workspaceId}`} and not ${this.rows.isOurs}`,
    );
    const gone = await this.leases.gone(rows.map(({ holder }) => holder));
    return rows.filter(({ holder }) => gone.has(holder));
  }

  /** Forgets one whose outcome cannot be told. */
  async remove(id: string): Promise<void> {
    await sql`delete from workspace_write where id = ${id}::uuid`.execute(this.database.tables());
  }

  private async select(where: RawBuilder<unknown>): Promise<(Intent & { holder: string })[]> {
    const { rows } = await sql<Intent & { holder: string }>`
      select * from workspace_write where ${where} order by began_at limit ${AT_ONCE}`.execute(
      this.database.tables(),
    );
    return rows;
  }
}
