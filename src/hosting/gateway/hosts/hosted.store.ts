import { type RawBuilder, sql } from 'kysely';
import { type Actor, visibleTo } from '../../../platform/access/index.js';
import type { Database, UnitOfWork } from '../../../platform/database/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import type { HostedKind } from './hosting-domain.js';

type Queries = Pick<Database, 'tables'>;

/** Reads the rows of sites, or of servers; each table is named for its kind. */
export abstract class HostedStore<Found extends { readonly id: string }> {
  protected abstract readonly kind: HostedKind;
  /** Joins to the row `s`, and the columns that they add. */
  protected readonly joined: RawBuilder<unknown> = sql``;
  protected readonly added: RawBuilder<unknown> = sql``;

  constructor(protected readonly database: Database) {}

  async find(id: string, within: Queries = this.database): Promise<Found | undefined> {
    return this.rows(within).where(sql<string>`s.id`, '=', id).executeTakeFirst();
  }

  async require(id: string, within: Queries = this.database): Promise<Found> {
    const row = await this.find(id, within);
    if (!row) throw new NotFound(`No such ${this.kind}`);
    return row;
  }

  /** Locks the row until the transaction ends. */
  async lock(unit: UnitOfWork, id: string): Promise<Found> {
    await sql`select from ${sql.table(this.kind)} where id = ${id} for no key update`.execute(unit.tables());
    return this.require(id, unit);
  }

  /** Query of the rows that the caller sees, optionally of one workspace. */
  visible(actor: Actor, workspaceId?: string) {
    const query = this.rows(this.database, visibleTo(actor));
    return workspaceId === undefined ? query : query.where(sql<string>`s.workspace_id`, '=', workspaceId);
  }

  async count(unit: UnitOfWork, workspaceId: string): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from ${sql.table(this.kind)} where workspace_id = ${workspaceId}`.execute(
      unit.tables(),
    );
    return rows[0]?.count ?? 0;
  }

  private rows(within: Queries, workspaces: RawBuilder<unknown> = sql`workspace`) {
    const rows = sql<Found>`(
      select s.*, w.organization_id, w.number as workspace_number${this.added}
      from ${sql.table(this.kind)} s join ${workspaces} w on w.id = s.workspace_id ${this.joined})`;
    return within.tables().selectFrom(rows.as('s')).selectAll().$castTo<Found>();
  }
}
