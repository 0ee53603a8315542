import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import { iso, isoOrNull } from '../../../platform/database/index.js';
import {
  type ExposedView,
  type ExposureQuery,
  type ExposureSource,
  Exposures,
  isPast,
  LinkAccess,
} from '../../exposure/index.js';
import type { ShareLinkView } from './share-links.dto.js';
import { type AskedShareLinkRow, SHARE_LINK, ShareLinksStore } from './share-links.store.js';

/** Share links as their callers may see them, also among all that is reachable from outside. */
@Injectable()
export class LinkViews implements ExposureSource, OnModuleInit {
  constructor(
    private readonly links: ShareLinksStore,
    private readonly access: LinkAccess,
    private readonly exposures: Exposures,
  ) {}

  onModuleInit(): void {
    this.exposures.add(this);
  }

  toView(actor: Actor, row: AskedShareLinkRow): ShareLinkView {
    const { id, workspace_id, path, allow, views, downloads, uploads, created_by } = row;
    const times = { created_at: iso(row.created_at), updated_at: iso(row.updated_at) };
    return {
      id,
      workspace_id,
      path,
      allow,
      url: this.access.urlFor(actor, SHARE_LINK, row),
      has_password: row.password_hash !== null,
      state: deriveState(row),
      expires_at: isoOrNull(row.expires_at),
      views,
      downloads,
      uploads,
      last_opened_at: isoOrNull(row.last_opened_at),
      created_by,
      ...times,
    };
  }

  async listExposed(actor: Actor, query: ExposureQuery): Promise<ExposedView[]> {
    const rows = await this.links.listOfOrganization(actor, query);
    return rows.map(row =>
      this.access.exposedView(actor, SHARE_LINK, row, {
        allow: row.allow,
        revoke_path: `/api/share/${row.id}`,
      }),
    );
  }
}

function deriveState(row: AskedShareLinkRow): ShareLinkView['state'] {
  if (isPast(row.expires_at)) return 'expired';
  return SHARE_LINK.stands(row) ? 'active' : 'suspended';
}
