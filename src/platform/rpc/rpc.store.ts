import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type Row } from '../database/index.js';
import { type LeasedRows, Leases } from '../leases/index.js';

export type CallRow = Pick<Row<'rpc_call'>, 'id' | 'method' | 'input'>;

/** How a call stands, and what it wrote since it was last looked at. */
export interface CallProgress extends Pick<Row<'rpc_call'>, 'state' | 'result'> {
  readonly output: Buffer;
  /** The number of the last output. */
  readonly last: number;
}

/** The rows of calls; each is held by the process that calls, and is gone with it. */
@Injectable()
export class RpcStore {
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly leases: Leases,
  ) {
    this.rows = leases.rows('rpc_call');
  }

  async add({ id, method, input }: CallRow, processId: string): Promise<void> {
    await this.leases.requireFresh();
    await sql`
      insert into rpc_call (id, holder, process_id, method, input)
      values (${id}, ${this.leases.processId}, ${processId}, ${method}, ${input})`.execute(
      this.database.tables(),
    );
  }

  /** Begins those that wait for this process. */
  async take(): Promise<CallRow[]> {
    const { rows } = await sql<CallRow>`
      update rpc_call set state = 'running' where process_id = ${this.leases.processId} and state = 'waiting'
      returning id, method, input`.execute(this.database.tables());
    return rows;
  }

  /** Undefined where it is gone. */
  async look(id: string, after: number): Promise<CallProgress | undefined> {
    const { rows } = await sql<CallProgress>`
      select state, result, coalesce(string_agg(o.text, ''::bytea order by o.number), ''::bytea) as output,
        coalesce(max(o.number), ${after})::int as last
      from rpc_call c left join rpc_output o on o.call_id = c.id and o.number > ${after}
      where c.id = ${id} group by c.id`.execute(this.database.tables());
    return rows[0];
  }

  async write(id: string, number: number, text: string): Promise<void> {
    await sql`
      insert into rpc_output (call_id, number, text)
      select id, ${number}, ${Buffer.from(text)} from rpc_call where id = ${id}`.execute(
      this.database.tables(),
    );
  }

  /** Without a result, it is refused. */
  async end(id: string, result: Buffer | undefined): Promise<void> {
    await sql`
      update rpc_call set state = ${result ? 'done' : 'refused'}, result = ${result ?? null} where id = ${id}`.execute(
      this.database.tables(),
    );
  }

  async cancel(id: string): Promise<void> {
    await sql`update rpc_call set is_cancelled = true where id = ${id}`.execute(this.database.tables());
  }

  /** Which of these were cancelled. */
  async cancelled(ids: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from unnest(${ids}::uuid[]) as running (id)
      where not exists (select from rpc_call c where c.id = running.id and not c.is_cancelled)`.execute(
      this.database.tables(),
    );
    return rows.map(({ id }) => id);
  }

  /** Removes one; how it stood. */
  async remove(id: string): Promise<CallProgress['state'] | undefined> {
    const { rows } = await sql<Pick<CallProgress, 'state'>>`
      delete from rpc_call where id = ${id} returning state`.execute(this.database.tables());
    return rows[0]?.state;
  }

  /** Removes calls of processes that are gone, and those of this one that it does not know. */
  async removeOrphaned(isKnown: (id: string) => boolean): Promise<void> {
    const forgotten = await this.rows.forgotten(this.database, isKnown);
    await sql`delete from rpc_call where ${this.rows.isOrphaned} or ${forgotten}`.execute(
      this.database.tables(),
    );
  }
}
