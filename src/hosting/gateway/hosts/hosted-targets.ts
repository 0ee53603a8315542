import { Injectable } from '@nestjs/common';
import { type Actor, requireScope, type WorkspacePermission } from '../../../platform/access/index.js';
import { Subject } from '../../../platform/actions/index.js';
import { NotFound, unseenAs } from '../../../platform/errors/index.js';
import { WorkspacesStore } from '../../../workspaces/core/index.js';
import type { HostedKind } from './hosting-domain.js';

/** The part of a site or server that hosts and access depend on. */
export interface HostedTarget {
  readonly kind: HostedKind;
  readonly id: string;
  readonly workspaceId: string;
  readonly organizationId: string;
  readonly name: string;
  readonly slug: string;
  readonly createdBy: string;
}

export interface HostedTargetSource {
  readonly kind: HostedKind;
  /** Undefined if it does not exist. */
  find(id: string): Promise<HostedTarget | undefined>;
}

const tenant = ({ workspaceId, organizationId }: HostedTarget) => ({
  workspace_id: workspaceId,
  organization_id: organizationId,
});

/** Registry of sites and servers by kind, filled while modules start. */
@Injectable()
export class HostedTargets {
  private readonly sources = new Map<HostedKind, HostedTargetSource>();

  constructor(private readonly workspaces: WorkspacesStore) {}

  add(source: HostedTargetSource): void {
    if (this.sources.has(source.kind)) throw new Error(`Two features have what is a ${source.kind}`);
    this.sources.set(source.kind, source);
  }

  async find(kind: HostedKind, id: string): Promise<HostedTarget | undefined> {
    return this.sources.get(kind)?.find(id);
  }

  /** 404 if the caller does not see it, 403 if their role or key is insufficient. */
  async require(
    actor: Actor,
    permission: WorkspacePermission,
    kind: HostedKind,
    id: string,
  ): Promise<HostedTarget> {
    requireScope(actor, permission);
    const target = await this.find(kind, id);
    if (!target) throw new NotFound(`No such ${kind}`);
    await unseenAs(`No such ${kind}`, this.workspaces.require(actor, permission, target.workspaceId));
    return target;
  }

  @Subject('site', 'workspace', tenant)
  requireSite(actor: Actor, permission: WorkspacePermission, id: string): Promise<HostedTarget> {
    return this.require(actor, permission, 'site', id);
  }

  @Subject('server', 'workspace', tenant)
  requireServer(actor: Actor, permission: WorkspacePermission, id: string): Promise<HostedTarget> {
    return this.require(actor, permission, 'server', id);
  }
}
