import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type Row, storable, type UnitOfWork } from '../../platform/database/index.js';

export interface KeptOutcome {
  readonly title: string;
  readonly text: string;
  readonly isFailure?: boolean;
  /** What the button says, where it is a question. */
  readonly yes?: string;
}

declare global {
  interface ColumnTypes {
    'oauth_flow.outcome': KeptOutcome;
  }
}

export type FlowRow = Row<'oauth_flow'>;
export const FLOW_MINUTES = 10;
const OPEN = sql<boolean>`consumed_at is null and expires_at > now()`;

@Injectable()
export class FlowsStore {
  constructor(private readonly database: Database) {}

  insert(
    unit: UnitOfWork,
    row: Pick<
      FlowRow,
      'id' | 'kind' | 'subject_id' | 'organization_id' | 'user_id' | 'start_hash' | 'details'
    >,
  ): Promise<FlowRow> {
    return unit
      .tables()
      .insertInto('oauth_flow')
      .values({
        ...row,
        expires_at: sql<string>`now() + make_interval(mins => ${FLOW_MINUTES})`,
        created_at: sql<string>`now()`,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  /** Flow that can still begin. */
  openByStart(startHash: string): Promise<FlowRow | undefined> {
    return this.table.where('start_hash', '=', startHash).where(OPEN).executeTakeFirst();
  }

  byState(stateHash: string): Promise<FlowRow | undefined> {
    return this.table.where('state_hash', '=', stateHash).executeTakeFirst();
  }

  byId(id: string): Promise<FlowRow | undefined> {
    return this.table.where('id', '=', id).executeTakeFirst();
  }

  /** Binds it to a browser, which is sent to the provider now; false where it is over. */
  async send(
    id: string,
    { stateHash, browser, details }: { stateHash: string; browser: string; details: Buffer },
  ): Promise<boolean> {
    const { rows } = await sql`
      update oauth_flow set state_hash = ${stateHash}, browser = ${browser}, details = ${details}
      where id = ${id} and ${OPEN} returning 1`.execute(this.database.tables());
    return rows.length > 0;
  }

  /** Marks the flow as used; false if it was, or is over. */
  async consume(id: string): Promise<boolean> {
    const { rows } = await sql`
      update oauth_flow set consumed_at = now() where id = ${id} and ${OPEN} returning 1`.execute(
      this.database.tables(),
    );
    return rows.length > 0;
  }

  async keepOutcome(id: string, outcome: KeptOutcome, held: Buffer | null, unit?: UnitOfWork): Promise<void> {
    await sql`
      update oauth_flow set outcome = ${storable(outcome)}::jsonb, held = ${held} where id = ${id}`.execute(
      (unit ?? this.database).tables(),
    );
  }

  /** Takes the sealed grant, once, and while there is time. */
  async takeHeld(unit: UnitOfWork, id: string): Promise<Buffer | undefined> {
    const { rows } = await sql<{ held: Buffer }>`
      with before as (select held from oauth_flow where id = ${id} for update)
      update oauth_flow set held = null from before
      where id = ${id} and before.held is not null and expires_at + interval '10 minutes' > now()
      returning before.held as held`.execute(unit.tables());
    return rows[0]?.held;
  }

  /** Deletes flows that ended a day ago; sealed grants go sooner. */
  async prune(): Promise<void> {
    await sql`update oauth_flow set held = null where held is not null and expires_at + interval '10 minutes' < now()`.execute(
      this.database.tables(),
    );
    await sql`delete from oauth_flow where expires_at < now() - interval '1 day'`.execute(
      this.database.tables(),
    );
  }

  private get table() {
    return this.database.tables().selectFrom('oauth_flow').selectAll();
  }
}
