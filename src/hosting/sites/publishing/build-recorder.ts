import { Injectable } from '@nestjs/common';
import { enterBuild } from '../../../identity/billing/index.js';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { decidePromotion, type Promotion, promotionFacts } from '../records/promotion.js';
import {
  sitePromoted,
  siteVersionBuilt,
  siteVersionFailed,
  type VersionIds,
} from '../records/site-events.js';
import { type SiteRow, SitesStore } from '../records/sites.store.js';
import { type BuildAttempt, type BuiltVersion, VersionsStore } from '../records/versions.store.js';
import { BuildQueue } from './build-queue.js';

const UNEXPECTED = 'The build failed because of a fault on our side; try again.';

@Injectable()
export class BuildRecorder {
  constructor(
    private readonly database: Database,
    private readonly sites: SitesStore,
    private readonly versions: VersionsStore,
    private readonly queue: BuildQueue,
    private readonly events: Events,
  ) {}

  /** Undefined if the attempt is outdated. Otherwise tells whether the version went live. */
  async built(attempt: BuildAttempt, built: BuiltVersion): Promise<Promotion | undefined> {
    return this.database.transaction(async unit => {
      const site = await this.sites.lock(unit, attempt.site_id);
      if (!(await this.versions.finish(unit, attempt, built))) return undefined;
      const ids = { version_id: attempt.id, site_id: site.id };
      const promotion = await this.decide(unit, site, ids);
      if (built.awaits_forms) await this.queue.addCompression(unit, ids);
      await this.queue.addNext(unit, site.id);
      return promotion;
    });
  }

  async failed(attempt: BuildAttempt, reason: string): Promise<void> {
    const { id: version_id, site_id } = attempt;
    await this.database.transaction(async unit => {
      await this.sites.lock(unit, site_id);
      if (await this.versions.fail(unit, attempt, reason))
        await this.events.publish(unit, siteVersionFailed, { site_id, version_id });
      await this.queue.addNext(unit, site_id);
    });
  }

  /** The job of a build failed permanently, in whatever attempt. */
  async abandoned(ids: VersionIds): Promise<void> {
    await this.database.transaction(async unit => {
      if (await this.versions.abandon(unit, ids.version_id, UNEXPECTED))
        await this.events.publish(unit, siteVersionFailed, ids);
      await this.queue.addNext(unit, ids.site_id);
    });
  }

  async charge(site: SiteRow, { created_by: actorId }: BuildAttempt, seconds: number): Promise<void> {
    const { organization_id: organizationId, workspace_id: workspaceId } = site;
    await enterBuild(this.database, { organizationId, workspaceId, actorId, seconds });
  }

  /** `by`: the person who promoted it; null for automatic promotion. */
  async promote(
    unit: UnitOfWork,
    ids: VersionIds,
    { reason, by = null }: { reason: string; by?: string | null },
  ): Promise<void> {
    await this.sites.setLive(unit, ids.site_id, ids.version_id, reason);
    await this.events.publish(unit, sitePromoted, { ...ids, id: newId(), by });
  }

  /** Requires that `site` is locked. */
  private async decide(unit: UnitOfWork, site: SiteRow, ids: VersionIds): Promise<Promotion> {
    const version = await this.versions.require(site.id, ids.version_id, unit);
    const promotion = decidePromotion(promotionFacts(site, version));
    await this.events.publish(unit, siteVersionBuilt, ids);
    if (promotion.will) {
      await this.promote(unit, ids, { reason: 'It went live as soon as it was built.' });
      return { will: true, reason: 'It is live.' };
    }
    if (version.auto_promote) await this.versions.skipPromotion(unit, version.id, promotion.reason);
    return promotion;
  }
}
