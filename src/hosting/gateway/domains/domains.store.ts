import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { type HostedTarget } from '../hosts/hosted-targets.js';

/** Days of failed checks after which a host is no longer served. */
const PATIENCE_DAYS = 14;
/** Days after which unverified hosts are removed. */
const PENDING_DAYS = 30;

export type DomainRow = Row<'host_name'>;
type Queries = Pick<Database, 'tables'>;
type Target = Pick<HostedTarget, 'kind' | 'id' | 'workspaceId'>;

@Injectable()
export class DomainsStore {
  constructor(private readonly database: Database) {}

  async add(
    unit: UnitOfWork,
    { kind, id, workspaceId }: Target,
    domain: { host: string; proof: string; createdBy: string },
  ): Promise<DomainRow | undefined> {
    const { host, proof, createdBy } = domain;
    const { rows } = await sql<DomainRow>`
      insert into host_name (source, name, kind, target_id, workspace_id, state, created_by, proof)
      values ('custom', ${host}, ${kind}, ${id}, ${workspaceId}, 'pending', ${createdBy}, ${proof})
      on conflict do nothing returning *`.execute(unit.tables());
    return rows[0];
  }

  list({ kind, id }: Target): Promise<DomainRow[]> {
    return this.customHosts(kind, id).orderBy('name').execute();
  }

  async count(unit: UnitOfWork, { kind, id }: Target): Promise<number> {
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from host_name where kind = ${kind} and target_id = ${id} and source = 'custom'`.execute(
      unit.tables(),
    );
    return rows[0]?.n ?? 0;
  }

  find({ kind, id }: Target, host: string, within: Queries = this.database): Promise<DomainRow | undefined> {
    return this.customHosts(kind, id, within).where('name', '=', host).executeTakeFirst();
  }

  async remove(unit: UnitOfWork, { kind, id }: Target, host: string): Promise<boolean> {
    const { rows } = await sql`
      delete from host_name where source = 'custom' and kind = ${kind} and target_id = ${id} and name = ${host} returning name`.execute(
      unit.tables(),
    );
    return rows.length > 0;
  }

  async verifiedElsewhere(
    { kind, id }: Pick<Target, 'kind' | 'id'>,
    host: string,
  ): Promise<DomainRow | undefined> {
    const query = this.database.tables().selectFrom('host_name').selectAll();
    return query
      .where('source', '=', 'custom')
      .where('name', '=', host)
      .where('state', '=', 'verified')
      .where(sql<boolean>`(kind, target_id) <> (${kind}, ${id}::uuid)`)
      .executeTakeFirst();
  }

  /** False if another target is served there. */
  async verified(unit: UnitOfWork, { kind, target_id, name }: DomainRow): Promise<boolean> {
    const { rows } = await sql`
      update host_name set state = 'verified', checked_at = now(), verified_at = now(), failing_since = null, problem = null
      where source = 'custom' and kind = ${kind} and target_id = ${target_id} and name = ${name}
        and not exists (select from host_name o where o.name = ${name} and o.state = 'verified'
          and (o.kind, o.target_id) <> (${kind}, ${target_id}::uuid))
      returning name`.execute(unit.tables());
    return rows.length > 0;
  }

  /**
   * A verified host is served for two more weeks, unless `atOnce`. Returns `failing` for the first failure, `failed` when
   * serving ends.
   */
  async failing(
    unit: UnitOfWork,
    row: DomainRow,
    problem: string,
    { atOnce = false } = {},
  ): Promise<'failing' | 'failed' | undefined> {
    const { kind, target_id, name } = row;
    const { rows } = await sql<{ change: 'failing' | 'failed' | null }>`
      with before as (
        select state, failing_since from host_name
        where source = 'custom' and kind = ${kind} and target_id = ${target_id} and name = ${name} for update
      )
      update host_name h set checked_at = now(), problem = ${problem},
        failing_since = case when h.state = 'pending' then null else coalesce(h.failing_since, now()) end,
        state = case when h.state = 'verified'
          and (${atOnce} or h.failing_since < now() - make_interval(days => ${PATIENCE_DAYS})) then 'failed' else h.state end
      from before
      where h.source = 'custom' and h.kind = ${kind} and h.target_id = ${target_id} and h.name = ${name}
      returning case when before.state = 'verified' and h.state = 'failed' then 'failed'
        when before.state = 'verified' and before.failing_since is null then 'failing' end as change`.execute(
      unit.tables(),
    );
    return rows[0]?.change ?? undefined;
  }

  async due(limit: number): Promise<DomainRow[]> {
    const { rows } = await sql<DomainRow>`
      select * from host_name where source = 'custom' and state = 'verified' and workspace_id is not null
        and checked_at < now() - interval '23 hours'
      order by checked_at limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  /** Removes hosts that were never verified. */
  async forgetPending(): Promise<void> {
    await sql`
      delete from host_name where source = 'custom' and state = 'pending'
        and created_at < now() - make_interval(days => ${PENDING_DAYS})`.execute(this.database.tables());
  }

  private customHosts(kind: DomainRow['kind'], id: string, within: Queries = this.database) {
    const query = within.tables().selectFrom('host_name').selectAll();
    return query.where('source', '=', 'custom').where('kind', '=', kind).where('target_id', '=', id);
  }
}
