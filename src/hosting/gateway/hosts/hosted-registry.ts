import { Injectable } from '@nestjs/common';
import { didYouMean } from '#libs/did-you-mean/index.js';
import { type Actor, requireScope, type WorkspacePermission } from '../../../platform/access/index.js';
import { ActionCatalog } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Invalid } from '../../../platform/errors/index.js';
import { WorkspacesStore } from '../../../workspaces/core/index.js';
import { HostNames } from './host-names.js';
import { type HostedTarget, HostedTargets } from './hosted-targets.js';
import type { HostedKind } from './hosting-domain.js';
import { slugify } from './slugs.js';

const MAX_RANDOM = 36 ** 4;

/** Columns that the tables of sites and servers share. */
interface HostedRow {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly created_by: string;
  readonly workspace_id: string;
  readonly organization_id: string;
}

/** What sites and servers share: a workspace, a name, a slug, actions and an audit trail. */
@Injectable()
export class HostedRegistry {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly targets: HostedTargets,
    private readonly names: HostNames,
    private readonly catalog: ActionCatalog,
    private readonly audit: Audit,
  ) {}

  /** Call while modules start. */
  addKind(kind: HostedKind, find: (id: string) => Promise<HostedRow | undefined>): void {
    this.targets.add({
      kind,
      find: async id => {
        const row = await find(id);
        return row && toTarget(kind, row);
      },
    });
  }

  require(
    actor: Actor,
    permission: WorkspacePermission,
    kind: HostedKind,
    id: string,
  ): Promise<HostedTarget> {
    return this.targets.require(actor, permission, kind, id);
  }

  /** 404 if the caller does not see the workspace. */
  async requireListing(actor: Actor, permission: WorkspacePermission, workspaceId?: string): Promise<void> {
    requireScope(actor, permission);
    if (workspaceId) await this.workspaces.require(actor, permission, workspaceId);
  }

  /** Common columns of a new site or server. 409 without a domain for hosts. */
  async draft(
    actor: Actor,
    permission: WorkspacePermission,
    kind: HostedKind,
    input: { workspace_id: string; name: string; slug?: string },
  ) {
    const { workspace_id } = input;
    await this.workspaces.require(actor, permission, workspace_id);
    this.names.requireUsable();
    const name = input.name.trim();
    const slug = input.slug ?? (slugify(name) || randomSlug(kind));
    return { id: newId(), workspace_id, name, slug, created_by: actor.id };
  }

  /** Serializes additions to the workspace. */
  async lockWorkspace(
    unit: UnitOfWork,
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
  ): Promise<void> {
    await this.workspaces.requireLocked(unit, actor, permission, id);
  }

  /** Claims the slug. 409 if it is taken. */
  async claim(
    unit: UnitOfWork,
    kind: HostedKind,
    { id, workspace_id, slug }: Pick<HostedRow, 'id' | 'workspace_id' | 'slug'>,
  ): Promise<void> {
    await this.names.claim(unit, { kind, targetId: id, workspaceId: workspace_id, slug });
  }

  /** Call where a name or slug may change. 409 if the slug is taken. */
  async rename(
    unit: UnitOfWork,
    kind: HostedKind,
    { id, workspace_id, slug: before }: HostedRow,
    { name, slug }: { name?: string; slug?: string },
  ): Promise<void> {
    if (slug !== undefined && slug !== before)
      await this.names.rename(unit, { kind, targetId: id, workspaceId: workspace_id, slug });
    else if (name !== undefined) await this.names.changed(unit);
  }

  async release(unit: UnitOfWork, kind: HostedKind, id: string): Promise<void> {
    await this.names.release(unit, kind, id);
  }

  /** 422 for unknown actions. */
  requireActions(names: readonly string[]): void {
    for (const name of names) {
      if (this.catalog.get(name)) continue;
      const known = this.catalog.list().map(action => action.name);
      const meant = didYouMean(name, known);
      throw new Invalid(`There is no action ${name}${meant ? `; did you mean ${meant}?` : ''}`);
    }
  }

  async record(
    unit: UnitOfWork,
    actor: Actor,
    action: `${HostedKind}.${string}`,
    { id, organization_id, workspace_id }: HostedRow,
    details: Record<string, unknown> = {},
  ): Promise<void> {
    const [type = ''] = action.split('.', 1);
    await this.audit.record(unit, actor, action, { type, id, organization_id, workspace_id }, details);
  }
}

const toTarget = (kind: HostedKind, { id, name, slug, ...row }: HostedRow): HostedTarget => ({
  kind,
  id,
  name,
  slug,
  createdBy: row.created_by,
  workspaceId: row.workspace_id,
  organizationId: row.organization_id,
});

const randomSlug = (kind: HostedKind) => `${kind}-${Math.floor(Math.random() * MAX_RANDOM).toString(36)}`;
