import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { type LeasedRows, Leases } from '../../platform/leases/index.js';
import { ChangeLogStore, newestChange } from './change-log.store.js';
import { type Intent, replacedPaths, type Target } from './intent.js';
import type { Writer } from './writer.js';

interface Beginning {
  readonly intent: Intent;
  /** The history has to save what this overwrites. */
  readonly isAtRisk: boolean;
  /** Another process may have left a write in the workspace when it died. */
  readonly isCrossed: boolean;
}

const MAX_LOST = 1000;
/** Writes of other processes whose holders are looked at one by one; of more, some may be of a process that is gone. */
const MAX_OTHERS = 100;

/** Writes of the service that are not in the log yet. */
@Injectable()
export class WriteIntentsStore {
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly leases: Leases,
    private readonly changes: ChangeLogStore,
  ) {
    this.rows = leases.rows('workspace_write');
  }

  /** Adds one, in the statement that also finds what has to precede it; 404 where the workspace was deleted meanwhile. */
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
    const { rows } = await sql<{
      from_seq: string | null;
      entered_at: string;
      risk: boolean;
      others: string[];
      gone: boolean;
    }>`
      with begun as (
        insert into workspace_write
          (id, workspace_id, holder, writer_type, writer_id, targets, from_seq, began_at)
        select ${id}::uuid, id, ${holder}::uuid, ${writer.type}, ${writer.id},
          ${JSON.stringify(targets)}::jsonb,
          ${newestChange(workspaceId)}, ${begun}::timestamptz
        from workspace where id = ${workspaceId} for key share
        returning from_seq
      )
      select (select from_seq from begun) as from_seq, now() as entered_at, ${risk} as risk, array(
        select holder from workspace_write where workspace_id = ${workspaceId} and holder <> ${holder}::uuid
        limit ${MAX_OTHERS}
      ) as others, not exists (select from begun) and exists (
        -- As it was when this statement began.
        select from workspace where id = ${workspaceId}
      ) as gone`.execute(this.database.tables());
    const [row] = rows;
    if (row?.gone) throw new NotFound('The workspace was deleted meanwhile');
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
        entered_at: row?.entered_at,
      },
      isAtRisk: row?.risk !== false,
      isCrossed:
        !row || row.others.length === MAX_OTHERS || !row.others.every(other => this.leases.isThere(other)),
    };
  }

  /** Undefined: it is recorded. */
  async find(id: string): Promise<Intent | undefined> {
    return (await this.select(sql`id = ${id}::uuid`))[0];
  }

  async lost(workspaceId?: string): Promise<Intent[]> {
    const rows = await this.select(
      sql`${workspaceId === undefined ? sql`true` : sql`workspace_id = ${workspaceId}`} and not ${this.rows.isOurs}`,
    );
    const gone = await this.leases.gone(rows.map(({ holder }) => holder));
    return rows.filter(({ holder }) => gone.has(holder));
  }

  /** Those that change something at these paths, above or below them. */
  async touching(workspaceId: string, paths: readonly string[]): Promise<Intent[]> {
    const open = await this.select(sql`workspace_id = ${workspaceId}`);
    if (open.length === 0) return [];
    const changed = new Set(paths);
    const above = new Set(paths.flatMap(foldersAbove));
    const touches = (path: string) =>
      changed.has(path) || above.has(path) || foldersAbove(path).some(folder => changed.has(folder));
    return open.filter(({ targets }) =>
      targets.some(({ path, from }) => touches(path) || (from !== undefined && touches(from))),
    );
  }

  async stillOpen(ids: ReadonlySet<string>): Promise<Set<string>> {
    return new Set((await this.select(sql`id = any(${[...ids]}::uuid[])`)).map(({ id }) => id));
  }

  async remove(id: string): Promise<void> {
    await sql`delete from workspace_write where id = ${id}::uuid`.execute(this.database.tables());
  }

  private async select(where: RawBuilder<unknown>): Promise<(Intent & { holder: string })[]> {
    const { rows } = await sql<Intent & { holder: string }>`
      select * from workspace_write where ${where} order by began_at limit ${MAX_LOST}`.execute(
      this.database.tables(),
    );
    return rows;
  }
}

function foldersAbove(path: string): string[] {
  const names = path.split('/');
  return names.slice(1).map((_, depth) => names.slice(0, depth + 1).join('/'));
}
