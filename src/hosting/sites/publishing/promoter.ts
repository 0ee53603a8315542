import { Injectable } from '@nestjs/common';
import { newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { factsOf, type Promotion, promotionOf } from '../records/promotion.js';
import {
  sitePromoted,
  siteVersionBuilt,
  siteVersionFailed,
  type VersionIds,
} from '../records/site-events.js';
import { type SiteRow, SitesStore } from '../records/sites.store.js';
import { VersionsStore } from '../records/versions.store.js';

/** Decides what becomes of a version once it is built. */
@Injectable()
export class Promoter {
  constructor(
    private readonly sites: SitesStore,
    private readonly versions: VersionsStore,
    private readonly events: Events,
  ) {}

  /** To be called in the transaction that finishes the build, with the site as it is locked there. */
  async decide(unit: UnitOfWork, site: SiteRow, versionId: string): Promise<Promotion> {
    const version = await this.versions.require(site.id, versionId, unit);
    const ids = { site_id: site.id, version_id: versionId };
    const promotion = promotionOf(factsOf(site, version));
    await this.events.publish(unit, siteVersionBuilt, ids);
    if (promotion.will) await this.promote(unit, ids, { reason: 'It went live as soon as it was built.' });
    else if (version.auto_promote) await this.versions.skipPromotion(unit, versionId, promotion.reason);
    return promotion.will ? { will: true, reason: 'It is live.' } : promotion;
  }

  /** `by` promotes it by hand. */
  async promote(
    unit: UnitOfWork,
    ids: VersionIds,
    { reason, by = null }: { reason: string; by?: string | null },
  ): Promise<void> {
    await this.sites.setLive(unit, ids.site_id, ids.version_id, reason);
    await this.events.publish(unit, sitePromoted, { ...ids, id: newId(), by });
  }

  async failed(unit: UnitOfWork, { id, site_id }: { id: string; site_id: string }): Promise<void> {
    await this.events.publish(unit, siteVersionFailed, { site_id, version_id: id });
  }
}
