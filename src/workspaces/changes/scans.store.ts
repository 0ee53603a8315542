import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, type Row } from '../../platform/database/index.js';
import { type LeasedRows, Leases } from '../../platform/leases/index.js';
import { newestChange } from './change-log.store.js';
import type { Writer } from './writer.js';

/** How long after its deadline a command counts as lost, wherever it ran. */
const GRACE_SECONDS = 120;

/** An unfinished comparison; its first snapshot is in a file named by the id. */
export interface Scan
  extends Pick<Row<'workspace_scan'>, 'id' | 'workspace_id' | 'writer_id' | 'from_seq' | 'started_at'> {
  readonly writer_type: Writer['type'];
  readonly settled_seq?: string;
}

type Moment = Pick<Scan, 'from_seq' | 'started_at'>;

/** Comparisons whose changes are not in the log yet: one for each command under way, or what it left running. */
@Injectable()
export class ScansStore {
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly leases: Leases,
  ) {
    this.rows = leases.rows('workspace_scan');
  }

  async add(
    id: string,
    workspaceId: string,
    writer: Writer,
    { from_seq, started_at, seconds, background }: Moment & { seconds: number; background: boolean },
  ): Promise<Scan> {
    const runId = writer.type === 'run' ? writer.id : null;
    const [scan] = await this.read(sql`
      insert into workspace_scan
        (id, workspace_id, writer_type, writer_id, run_id, holder, from_seq, started_at, deadline, background)
      values (${id}, ${workspaceId}, ${writer.type}, ${writer.id}, ${runId}::uuid, ${this.leases.processId},
        ${from_seq}, ${started_at}::timestamptz, now() + ${seconds + GRACE_SECONDS} * interval '1 second', ${background})
      returning *`);
    return scan as Scan;
  }

  async now(workspaceId: string): Promise<Moment> {
    const { rows } = await sql<Moment>`
      select ${newestChange(workspaceId)} as from_seq, now()::timestamptz(3) as started_at`.execute(
      this.database.tables(),
    );
    return rows[0] as Moment;
  }

  async remove(id: string): Promise<void> {
    await sql`delete from workspace_scan where id = ${id}`.execute(this.database.tables());
  }

  ofRun(workspaceId: string, runId: string): Promise<Scan[]> {
    return this.select(sql`workspace_id = ${workspaceId} and run_id = ${runId}::uuid`);
  }

  overdue(): Promise<Scan[]> {
    return this.select(sql`deadline < now()`);
  }

  /** Claims those of dead processes, and those of this process that are not busy. */
  async claimOrphaned(isBusy: (id: string) => boolean): Promise<Scan[]> {
    const forgotten = await this.rows.forgotten(this.database, isBusy);
    return this.read(sql`
      update workspace_scan set ${this.rows.claimed} where ${this.rows.isOrphaned} or ${forgotten}
      returning *`);
  }

  async hasCommand(workspaceId: string): Promise<boolean> {
    const rows = await this.select(
      sql`workspace_id = ${workspaceId} and not background and deadline > now()`,
    );
    return rows.length > 0;
  }

  async ids(): Promise<Set<string>> {
    return new Set((await this.select(sql`true`)).map(({ id }) => id));
  }

  private select(where: RawBuilder<unknown>): Promise<Scan[]> {
    return this.read(sql`select * from workspace_scan where ${where} order by id`);
  }

  private async read(statement: RawBuilder<unknown>): Promise<Scan[]> {
    return (await (statement as RawBuilder<Scan>).execute(this.database.tables())).rows;
  }
}
