import { Injectable } from '@nestjs/common';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { defineEvent, Events } from '../../../platform/events/index.js';
import { factsOf, type Promotion, promotionOf } from '../records/promotion.js';
import { type SiteRow, SitesStore } from '../records/sites.store.js';
import { VersionsStore } from '../records/versions.store.js';

interface VersionIds {
  readonly site_id: string;
  readonly version_id: string;
}

/** A version was built; it may have gone live by that. */
export const siteVersionBuilt = defineEvent<VersionIds>('site.version_built');
export const siteVersionFailed = defineEvent<VersionIds>('site.version_failed');
/** A version went live, by itself or by hand. */
export const sitePromoted = defineEvent<VersionIds>('site.promoted');

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
    if (promotion.will) await this.promote(unit, site.id, versionId, 'It went live as soon as it was built.');
    else if (version.auto_promote) await this.versions.skipPromotion(unit, versionId, promotion.reason);
    return promotion.will ? { will: true, reason: 'It is live.' } : promotion;
  }

  async promote(unit: UnitOfWork, siteId: string, versionId: string, reason: string): Promise<void> {
    await this.sites.setLive(unit, siteId, versionId, reason);
    await this.events.publish(unit, sitePromoted, { site_id: siteId, version_id: versionId });
  }

  async failed(unit: UnitOfWork, { id, site_id }: { id: string; site_id: string }): Promise<void> {
    await this.events.publish(unit, siteVersionFailed, { site_id, version_id: id });
  }
}
