import type { WorkspacePermission } from '../../platform/access/index.js';
import type { HostedKind } from './hosting-domain.js';

interface HostedPermissions {
  readonly read: WorkspacePermission;
  /** To change it, and to close it to others. */
  readonly manage: WorkspacePermission;
  /** To open it to others. */
  readonly open: WorkspacePermission;
}

/** What it takes to see, to change and to open what has hosts. */
export const HOSTED_PERMISSIONS: Readonly<Record<HostedKind, HostedPermissions>> = {
  site: { read: 'site.read', manage: 'site.publish', open: 'hosting.access' },
  server: { read: 'tunnel.read', manage: 'tunnel.manage', open: 'tunnel.access' },
};
