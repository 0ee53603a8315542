import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Config } from '../../../platform/config/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { REACHED_FROM } from '../records/version-states.js';

/** Keeps live and pinned versions, the newest, and those that were live recently. */
@Injectable()
export class OldVersionsStore {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
  ) {}

  async sitesWithOld(limit: number): Promise<string[]> {
    const { rows } = await sql<{ site_id: string }>`
      select distinct v.site_id from site_version v join site s on s.id = v.site_id
      where ${this.isOld()} limit ${limit}`.execute(this.database.tables());
    return rows.map(({ site_id }) => site_id);
  }

  /** Requires that the site is locked. Keeps rows, removes logs and manifests. Returns the number of versions. */
  async purge(unit: UnitOfWork, siteId: string): Promise<number> {
    const { rows } = await sql`
      with old as (
        select v.id from site_version v join site s on s.id = v.site_id where v.site_id = ${siteId} and ${this.isOld()}
      ), logs as (
        delete from site_version_log where version_id in (select id from old)
      )
      update site_version set state = 'purged', manifest_hash = null
      where id in (select id from old) returning id`.execute(unit.tables());
    return rows.length;
  }

  async manifests(unit: UnitOfWork, siteId: string): Promise<Set<string>> {
    const { rows } = await sql<{ hash: string }>`
      select distinct manifest_hash as hash from site_version
      where site_id = ${siteId} and manifest_hash is not null`.execute(unit.tables());
    return new Set(rows.map(({ hash }) => hash));
  }

  async isBuilding(unit: UnitOfWork, siteId: string): Promise<boolean> {
    const { rows } = await sql`
      select from site_version where site_id = ${siteId} and state = 'building'`.execute(unit.tables());
    return rows.length > 0;
  }

  /** Those of `ids` whose builds may still use their folder. */
  async open(ids: readonly string[]): Promise<Set<string>> {
    const { rows } = await sql<{ id: string }>`
      select id from site_version where id = any(${[...ids]}::uuid[]) and state in ('queued', 'building')`.execute(
      this.database.tables(),
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** Expects `v` to name a version and `s` its site. */
  private isOld() {
    const { siteLimits, retentionDays } = this.config;
    const { versions: count } = siteLimits;
    const { sites: days } = retentionDays;
    const longAgo = (time: ReturnType<typeof sql>) => sql`${time} < now() - make_interval(days => ${days})`;
    return sql`v.state = any(${REACHED_FROM.purged}::text[]) and not v.pinned and v.id is distinct from s.live_version_id
      and (v.promoted_at is null or ${longAgo(sql`coalesce(v.retired_at, now())`)})
      and case when v.state = 'built' then ${count} <= (
          select count(*) from site_version newer
          where newer.site_id = v.site_id and newer.number > v.number and newer.state = 'built')
        else ${longAgo(sql`v.finished_at`)} end`;
  }
}
