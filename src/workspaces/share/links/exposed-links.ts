import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import {
  type ExposedView,
  type ExposureQuery,
  type ExposureSource,
  Exposures,
} from '../../exposure/index.js';
import { LinkViews } from './link-views.js';
import { type AskedLinkRow, ShareLinksStore } from './share-links.store.js';

/** Share links, among all that is reachable from outside. */
@Injectable()
export class ExposedLinks implements ExposureSource, OnModuleInit {
  constructor(
    private readonly links: ShareLinksStore,
    private readonly views: LinkViews,
    private readonly exposures: Exposures,
  ) {}

  onModuleInit(): void {
    this.exposures.add(this);
  }

  async listExposed(actor: Actor, query: ExposureQuery): Promise<ExposedView[]> {
    const rows = await this.links.listOfOrganization(actor, query);
    return rows.map(row => this.exposed(actor, row));
  }

  private exposed(actor: Actor, row: AskedLinkRow): ExposedView {
    const { id, path, workspace_id, url, has_password, ...view } = this.views.of(actor, row);
    return {
      id,
      kind: 'share',
      name: path,
      workspace_id,
      workspace_name: row.workspace_name,
      url,
      protection: has_password ? 'password' : 'link',
      allow: view.allow,
      expires_at: view.expires_at,
      created_by: view.created_by,
      created_at: view.created_at,
      revoke_path: `/api/share/${id}`,
    };
  }
}
