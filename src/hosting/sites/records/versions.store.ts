import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { Chain } from '../../../platform/access/index.js';
import { Database, type Row, storable, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, type PageInput, selectPage } from '../../../platform/dto/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { Leases } from '../../../platform/leases/index.js';
import { defineTopic, Topics } from '../../../platform/topics/index.js';
import { siteTopic } from './sites.store.js';
import { type BuildProgress, REACHED_FROM, type VersionState } from './version-states.js';

export const versionTopic = defineTopic('site-version');

export interface Finding {
  readonly level: 'error' | 'warning';
  readonly file?: string;
  readonly line?: number;
  readonly message: string;
}

declare global {
  interface ColumnTypes {
    'site_version.findings': Finding[];
    'site_version.progress': BuildProgress;
    'site_version.chain': Chain;
  }
}

export type VersionRow = Row<'site_version'>;

export interface BuiltVersion {
  readonly preset: string;
  readonly manifest_hash: string;
  readonly files: number;
  readonly bytes: number;
  readonly findings: readonly Finding[];
  /** Some of its files may still be compressed. */
  readonly awaits_forms: boolean;
}

/** An attempt at a build. Only the latest may write. */
export interface BuildAttempt {
  readonly id: string;
  readonly site_id: string;
  readonly attempt: number;
  readonly created_by: string;
  readonly losses: number;
}

type Queries = Pick<Database, 'tables'>;
const before = (state: VersionState) => sql`state = any(${REACHED_FROM[state]}::text[])`;

@Injectable()
export class VersionsStore {
  private readonly leased;

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    leases: Leases,
  ) {
    this.leased = leases.rows('site_version');
  }

  find(siteId: string, id: string, within: Queries = this.database): Promise<VersionRow | undefined> {
    return this.ofSite(siteId, within).where('id', '=', id).executeTakeFirst();
  }

  async require(siteId: string, id: string, within: Queries = this.database): Promise<VersionRow> {
    const version = await this.find(siteId, id, within);
    if (!version) throw new NotFound('No such version of this site');
    return version;
  }

  byNumber(siteId: string, number: number): Promise<VersionRow | undefined> {
    return this.ofSite(siteId).where('number', '=', number).executeTakeFirst();
  }

  list(siteId: string, input: PageInput): Promise<Page<VersionRow>> {
    return selectPage(this.ofSite(siteId), input, { by: 'number', kind: 'number', newestFirst: true });
  }

  async add(
    unit: UnitOfWork,
    row: Pick<VersionRow, 'id' | 'site_id' | 'number' | 'auto_promote' | 'note' | 'created_by'> & {
      chain?: Chain;
    },
  ): Promise<void> {
    const { id, site_id, number, auto_promote, note, created_by, chain = null } = row;
    await sql`
      insert into site_version (id, site_id, number, state, auto_promote, note, created_by, chain, created_at)
      values (${id}, ${site_id}, ${number}, 'queued', ${auto_promote}, ${note}, ${created_by},
        ${chain && JSON.stringify(chain)}::jsonb, now())`.execute(unit.tables());
  }

  async countQueued(unit: UnitOfWork, siteId: string): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from site_version where site_id = ${siteId} and state = 'queued'`.execute(
      unit.tables(),
    );
    return rows[0]?.count ?? 0;
  }

  /** Queued versions are superseded by a newer one. */
  async cancelOlder(unit: UnitOfWork, siteId: string, number: number): Promise<void> {
    const { rows } = await sql<{ id: string }>`
      update site_version set state = 'cancelled', finished_at = now(),
        error = ${`Version ${number} is newer and was queued before this one began.`}
      where site_id = ${siteId} and number < ${number} and state = 'queued' returning id`.execute(
      unit.tables(),
    );
    for (const { id } of rows) await this.changed(unit, id);
  }

  /** False if the build is over. A running build can no longer write. */
  async cancel(unit: UnitOfWork, { id }: Pick<VersionRow, 'id'>): Promise<boolean> {
    const { rows } = await sql`
      update site_version set state = 'cancelled', finished_at = now(), attempt = attempt + 1, ${this.leased.released}
      where id = ${id} and ${before('cancelled')} returning id`.execute(unit.tables());
    await this.changed(unit, id);
    return rows.length > 0;
  }

  /**
   * Starts an attempt. Undefined if the version is done, is being built elsewhere, or has to wait for another version of its
   * site.
   */
  async claim(id: string): Promise<BuildAttempt | undefined> {
    const { rows } = await sql<BuildAttempt>`
      with mine as (
        select v.id, v.site_id from site_version v join site s on s.id = v.site_id where v.id = ${id} for no key update of s
      )
      update site_version set state = 'building', attempt = attempt + 1, ${this.leased.claimed},
        losses = losses + (${this.leased.isOrphaned})::int, started_at = coalesce(started_at, now()), progress = '{}'
      from mine
      where site_version.id = mine.id and ${before('building')} and (${this.leased.isFree} or ${this.leased.isOurs})
        and not exists (
        select from site_version other where other.site_id = mine.site_id and other.id <> mine.id and other.state = 'building')
      returning site_version.id, site_version.site_id, site_version.attempt, site_version.losses,
        site_version.created_by`.execute(this.database.tables());
    return rows[0];
  }

  /** False once the build was cancelled or taken over. */
  async isCurrent(attempt: BuildAttempt): Promise<boolean> {
    const { rows } = await sql`select from site_version where ${isAttempt(attempt)}`.execute(
      this.database.tables(),
    );
    return rows.length > 0;
  }

  /** Calls `wake` when the version or its site changes. Returns a function that ends the watch. */
  watch({ id, site_id }: BuildAttempt, wake: () => void): () => void {
    const topics = [versionTopic(id), siteTopic(site_id)];
    const ends = topics.map(topic => this.topics.subscribe(topic, wake));
    return () => {
      for (const end of ends) end();
    };
  }

  /** Returns a build to the queue, for another process. */
  async requeue(attempt: BuildAttempt): Promise<void> {
    await sql`
      update site_version set state = 'queued', progress = '{}', ${this.leased.released} where ${isAttempt(attempt)}`.execute(
      this.database.tables(),
    );
    this.topics.publish(versionTopic(attempt.id));
  }

  async requeueLost(unit: UnitOfWork): Promise<Pick<VersionRow, 'id' | 'site_id'>[]> {
    const { rows } = await sql<Pick<VersionRow, 'id' | 'site_id'>>`
      update site_version set state = 'queued', progress = '{}', losses = losses + 1, ${this.leased.released}
      where state = 'building' and ${this.leased.isOrphaned} returning id, site_id`.execute(unit.tables());
    for (const { id } of rows) await this.changed(unit, id);
    return rows;
  }

  /** False if the attempt is outdated. */
  async report(attempt: BuildAttempt, progress: BuildProgress): Promise<boolean> {
    const { rows } = await sql`
      update site_version set progress = ${JSON.stringify(progress)}::jsonb where ${isAttempt(attempt)} returning id`.execute(
      this.database.tables(),
    );
    this.topics.publish(versionTopic(attempt.id));
    return rows.length > 0;
  }

  /** False if the attempt is outdated. */
  async finish(unit: UnitOfWork, attempt: BuildAttempt, built: BuiltVersion): Promise<boolean> {
    return this.end(
      unit,
      attempt,
      sql`state = 'built', preset = ${built.preset}, manifest_hash = ${built.manifest_hash}, files = ${built.files},
        bytes = ${built.bytes}, findings = ${storable(built.findings)}::jsonb, error = null`,
    );
  }

  /** Same files, with compressed forms. False if the version has changed. */
  async replaceManifest(unit: UnitOfWork, id: string, from: string, to: string): Promise<boolean> {
    const { rows } = await sql`
      update site_version set manifest_hash = ${to}
      where id = ${id} and state = 'built' and manifest_hash = ${from} returning id`.execute(unit.tables());
    return rows.length > 0;
  }

  /** In whatever attempt. False if the build is over. */
  async abandon(unit: UnitOfWork, id: string, error: string): Promise<boolean> {
    const { rows } = await sql`
      update site_version set state = 'failed', error = ${error}, finished_at = now(), attempt = attempt + 1,
        ${this.leased.released}
      where id = ${id} and ${before('failed')} returning id`.execute(unit.tables());
    await this.changed(unit, id);
    return rows.length > 0;
  }

  async fail(
    unit: UnitOfWork,
    attempt: BuildAttempt,
    error: string,
    findings: readonly Finding[] = [],
  ): Promise<boolean> {
    return this.end(
      unit,
      attempt,
      sql`state = 'failed', error = ${error}, findings = ${storable(findings)}::jsonb`,
    );
  }

  /** Records why the version did not go live. */
  async skipPromotion(unit: UnitOfWork, id: string, reason: string): Promise<void> {
    await sql`
      update site_version set promotion = 'skipped', promotion_reason = ${reason} where id = ${id}`.execute(
      unit.tables(),
    );
  }

  /** Undefined if none is queued. */
  async nextQueued(unit: UnitOfWork, siteId: string): Promise<string | undefined> {
    const { rows } = await sql<{ id: string }>`
      select id from site_version where site_id = ${siteId} and state = 'queued' order by number desc limit 1`.execute(
      unit.tables(),
    );
    return rows[0]?.id;
  }

  async isNewest(unit: UnitOfWork, siteId: string, number: number): Promise<boolean> {
    const { rows } = await sql`
      select from site_version where site_id = ${siteId} and number > ${number} and state = 'built' limit 1`.execute(
      unit.tables(),
    );
    return rows.length === 0;
  }

  async pin(unit: UnitOfWork, id: string, pinned: boolean): Promise<void> {
    await sql`update site_version set pinned = ${pinned} where id = ${id}`.execute(unit.tables());
  }

  async remove(unit: UnitOfWork, id: string): Promise<void> {
    await sql`
      with gone as (delete from site_version where id = ${id} returning site_id)
      update site set sweep_at = now() from gone where site.id = gone.site_id`.execute(unit.tables());
  }

  /** Versions other than `number` that were live within `days`, newest first. */
  async servedBefore(siteId: string, number: number, days: number, limit: number): Promise<VersionRow[]> {
    const { rows } = await sql<VersionRow>`
      select * from site_version
      where site_id = ${siteId} and number <> ${number} and state = 'built' and promoted_at is not null
        and coalesce(retired_at, now()) > now() - make_interval(days => ${days})
      order by promoted_at desc limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  private ofSite(siteId: string, within: Queries = this.database) {
    return within.tables().selectFrom('site_version').selectAll().where('site_id', '=', siteId);
  }

  private async end(unit: UnitOfWork, attempt: BuildAttempt, change: RawBuilder<unknown>): Promise<boolean> {
    const { rows } = await sql`
      update site_version set ${change}, finished_at = now(), progress = '{}', ${this.leased.released}
      where ${isAttempt(attempt)} returning id`.execute(unit.tables());
    await this.changed(unit, attempt.id);
    return rows.length > 0;
  }

  private async changed(unit: UnitOfWork, id: string): Promise<void> {
    await this.topics.publishWithCommit(unit, versionTopic(id));
  }
}

const isAttempt = ({ id, attempt }: BuildAttempt) =>
  sql`id = ${id} and attempt = ${attempt} and state = 'building'`;
