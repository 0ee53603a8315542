import { Injectable } from '@nestjs/common';
import { iso, isoOrNull } from '../../platform/database/index.js';
import { toView } from '../../platform/dto/index.js';
import { HostNames } from '../gateway/index.js';
import { decidePromotion, promotionFacts } from './records/promotion.js';
import type { SiteRow } from './records/sites.store.js';
import { isOpen } from './records/version-states.js';
import type { VersionRow } from './records/versions.store.js';
import { SiteView, type VersionView } from './sites.dto.js';

@Injectable()
export class SiteViews {
  constructor(private readonly names: HostNames) {}

  site(site: SiteRow): SiteView {
    const { slug } = site;
    return toView(SiteView, site, {
      url: this.names.urlOf('site', slug),
      live_version: site.live_number,
      locked: site.locked_at !== null,
      auto_promote_paused: site.paused_at !== null,
    });
  }

  version(site: SiteRow, version: VersionRow): VersionView {
    const { id, number, state, note, preset, error, files, pinned, progress } = version;
    const isLive = site.live_version_id === id;
    return {
      id,
      site_id: site.id,
      number,
      state: isLive ? 'live' : state,
      url: this.names.versionUrlOf(site.slug, number),
      auto_promote: version.auto_promote,
      promotion: decidePromotion(promotionFacts(site, version)),
      progress:
        isOpen(state) && progress.phase
          ? { phase: progress.phase, done: progress.done ?? null, total: progress.total ?? null }
          : null,
      note,
      preset,
      error,
      files,
      pinned,
      bytes: Number(version.bytes),
      findings: version.findings.map(({ level, file = null, line = null, message }) => ({
        level,
        file,
        line,
        message,
      })),
      created_by: version.created_by,
      created_at: iso(version.created_at),
      started_at: isoOrNull(version.started_at),
      finished_at: isoOrNull(version.finished_at),
      promoted_at: isoOrNull(version.promoted_at),
    };
  }
}
