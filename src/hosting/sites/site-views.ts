import { Injectable } from '@nestjs/common';
import { iso, isoOrNull } from '../../platform/database/index.js';
import { HostNames } from '../hosts/index.js';
import { decidePromotion, promotionFacts } from './records/promotion.js';
import type { SiteRow } from './records/sites.store.js';
import { isOpen } from './records/version-states.js';
import type { VersionRow } from './records/versions.store.js';
import type { SiteView, VersionView } from './sites.dto.js';

@Injectable()
export class SiteViews {
  constructor(private readonly names: HostNames) {}

  site(site: SiteRow): SiteView {
    const { id, workspace_id, name, slug, folder, preset, install_command, build_command, output_dir } = site;
    return {
      id,
      workspace_id,
      name,
      slug,
      url: this.names.urlOf('site', slug),
      folder,
      preset,
      install_command,
      build_command,
      output_dir,
      spa: site.spa,
      node_memory: site.node_memory,
      actions: site.actions,
      actions_public: site.actions_public,
      live_version_id: site.live_version_id,
      live_version: site.live_number,
      locked: site.locked_at !== null,
      lock_reason: site.lock_reason,
      auto_promote_paused: site.paused_at !== null,
      pause_reason: site.pause_reason,
      created_by: site.created_by,
      created_at: iso(site.created_at),
      updated_at: iso(site.updated_at),
    };
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
