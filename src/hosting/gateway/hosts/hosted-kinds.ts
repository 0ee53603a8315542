import type { WorkspacePermission } from '../../../platform/access/index.js';
import type { HostedTarget } from './hosted-targets.js';
import type { HostedKind } from './hosting-domain.js';

/** The differences between sites and servers. */
export interface HostedKindSpec {
  /** Input field that holds the id. */
  readonly field: `${HostedKind}_id`;
  readonly path: `/${string}`;
  readonly accessPath: `/${string}`;
  readonly read: WorkspacePermission;
  /** To change it, and to narrow its access. */
  readonly manage: WorkspacePermission;
  /** To open it to others. */
  readonly open: WorkspacePermission;
}

export const HOSTED: Readonly<Record<HostedKind, HostedKindSpec>> = {
  site: {
    field: 'site_id',
    path: '/api/sites/:siteId',
    accessPath: '/api/site-access/:siteId',
    read: 'site.read',
    manage: 'site.publish',
    open: 'hosting.access',
  },
  server: {
    field: 'server_id',
    path: '/api/tunnels/:serverId',
    accessPath: '/api/tunnel-access/:serverId',
    read: 'tunnel.read',
    manage: 'tunnel.manage',
    open: 'tunnel.access',
  },
};

/** An input that names a site or a server. */
export type HostedInput = { readonly site_id: string } | { readonly server_id: string };

export const hostedId = (input: HostedInput): string =>
  'site_id' in input ? input.site_id : input.server_id;

export const auditTarget = ({ kind, id, organizationId, workspaceId }: HostedTarget) => ({
  type: kind,
  id,
  organization_id: organizationId,
  workspace_id: workspaceId,
});
