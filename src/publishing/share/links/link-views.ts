import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type Actor, roleAllows, scopeOf, type WorkspacePermission } from '../../../platform/access/index.js';
import { iso, isoOrNull } from '../../../platform/database/index.js';
import {
  type ExposedView,
  type ExposureQuery,
  type ExposureSource,
  Exposures,
  LinkAccess,
  stateOf,
} from '../../exposure/index.js';
import type { ShareLinkView } from './share-links.dto.js';
import { type AskedLinkRow, reachOf, ShareLinksStore } from './share-links.store.js';

/** Share links as their callers may see them. */
@Injectable()
export class LinkViews {
  constructor(private readonly access: LinkAccess) {}

  of(actor: Actor, row: AskedLinkRow): ShareLinkView {
    const { id, workspace_id, path, allow, views, downloads, uploads, created_by } = row;
    const times = { created_at: iso(row.created_at), updated_at: iso(row.updated_at) };
    return {
      id,
      workspace_id,
      path,
      allow,
      url: this.urlFor(actor, row),
      has_password: row.password_hash !== null,
      state: stateOf(row),
      expires_at: isoOrNull(row.expires_at),
      views,
      downloads,
      uploads,
      last_opened_at: isoOrNull(row.last_opened_at),
      created_by,
      ...times,
    };
  }

  /** The link is as good as what it opens: it is shown to those who could give it out and go through it themselves. */
  private urlFor(actor: Actor, row: AskedLinkRow): string | null {
    const { role } = row;
    const may = (permission: WorkspacePermission) =>
      role !== null && roleAllows(role, permission) && hasScope(actor, permission);
    if (!may('share.manage') || !may(reachOf(row.allow))) return null;
    return this.access.urlOf(row);
  }
}

const hasScope = ({ credential: { scopes } }: Actor, permission: WorkspacePermission): boolean =>
  scopes === null || scopes.includes(scopeOf(permission));

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
