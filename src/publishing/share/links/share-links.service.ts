import { Injectable } from '@nestjs/common';
import { workspacePath } from '#libs/workspace-fs/index.js';
import { hashPassword } from '../../../identity/accounts/index.js';
import {
  type Actor,
  organizationRoleAllows,
  requireScope,
  type WorkspacePermission,
} from '../../../platform/access/index.js';
import { Action, Subject } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database, newId } from '../../../platform/database/index.js';
import { ById, DeletedView, type Page } from '../../../platform/dto/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import {
  ListAcrossWorkspaces,
  ListOfWorkspace,
  type VisibleWorkspace,
  WorkspaceFolders,
  WorkspacesStore,
} from '../../../workspaces/core/index.js';
import { ALLOWANCES, type Allowance, LinkAccess, readEnd } from '../../exposure/index.js';
import { LinkViews } from './link-views.js';
import { CreateShareLink, ShareLinkPage, ShareLinkView, UpdateShareLink } from './share-links.dto.js';
import { type AskedShareLinkRow, SHARE_LINK, ShareLinksStore } from './share-links.store.js';

const NOT_A_FOLDER = 'Only a folder can take uploads';

@Injectable()
export class ShareLinksService {
  constructor(
    private readonly database: Database,
    private readonly links: ShareLinksStore,
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly views: LinkViews,
    private readonly access: LinkAccess,
    private readonly audit: Audit,
  ) {}

  @Action('share_list', 'GET /api/share', {
    summary: 'List share links in the workspaces that the caller sees, or in one of them',
    permission: 'share.read',
    input: ListAcrossWorkspaces,
    output: ShareLinkPage,
    refuses: { 404: 'No such workspace' },
  })
  async list(actor: Actor, input: ListAcrossWorkspaces): Promise<Page<ShareLinkView>> {
    requireScope(actor, 'share.read');
    if (input.workspace_id) await this.workspaces.require(actor, 'share.read', input.workspace_id);
    const page = await this.links.list(actor, input);
    return { ...page, items: page.items.map(row => this.views.toView(actor, row)) };
  }

  @Action('workspace_share_list', 'GET /api/workspaces/:workspaceId/shares', {
    summary: 'List the share links of a workspace',
    permission: 'share.read',
    input: ListOfWorkspace,
    output: ShareLinkPage,
  })
  async listOfWorkspace(actor: Actor, input: ListOfWorkspace): Promise<Page<ShareLinkView>> {
    await this.workspaces.require(actor, 'share.read', input.workspace_id);
    return this.list(actor, input);
  }

  @Action('share_create', 'POST /api/share', {
    summary: 'Share a file or folder by a link, with whoever holds it',
    consequence: 'Whoever has the link can then reach the file or folder, without an account.',
    permission: 'share.manage',
    input: CreateShareLink,
    output: ShareLinkView,
    commitsAnswer: true,
    refuses: {
      404: 'No such workspace or path',
      409: 'The path cannot be shared like this, or there is no host for links',
    },
  })
  async create(actor: Actor, input: CreateShareLink): Promise<ShareLinkView> {
    const { workspace_id: workspaceId, allow = 'view', password } = input;
    const workspace = await this.workspaces.require(actor, 'share.manage', workspaceId);
    requireScope(actor, reachOf(allow));
    const path = workspacePath(input.path);
    await this.requireShareable(workspace, path, allow);
    const id = newId();
    const link = {
      id,
      workspace_id: workspaceId,
      path,
      allow,
      created_by: actor.id,
      ...this.access.newSecret(id),
      expires_at: readEnd(input.expires_at),
      password_hash: password ? await hashPassword(password) : null,
    };
    return this.database.transaction(async unit => {
      await this.workspaces.requireLocked(unit, actor, 'share.manage', workspaceId);
      await this.links.add(unit, link);
      const row = await this.links.require(actor, id, unit);
      const details = { path, allow, expires_at: input.expires_at ?? null, has_password: !!password };
      await this.audit.record(unit, actor, 'share.create', SHARE_LINK.target(row), details);
      return unit.answers(this.views.toView(actor, row));
    });
  }

  @Action('share_get', 'GET /api/share/:id', {
    on: { id: 'share' },
    summary: 'Read a share link',
    permission: 'share.read',
    input: ById({ id: 'The share link' }),
    output: ShareLinkView,
  })
  async read(actor: Actor, { id }: ById): Promise<ShareLinkView> {
    const row = await this.links.require(actor, id);
    SHARE_LINK.requireRole(actor, row, 'share.read');
    return this.views.toView(actor, row);
  }

  @Action('share_update', 'PATCH /api/share/:id', {
    on: { id: 'share' },
    summary: 'Change what a share link allows, its password or its end; the link stays the same',
    consequence: 'Whoever has the link may then do what it allows from now on.',
    permission: 'share.manage',
    input: UpdateShareLink,
    output: ShareLinkView,
    refuses: { 409: 'The path cannot be shared like this' },
  })
  async update(actor: Actor, input: UpdateShareLink): Promise<ShareLinkView> {
    const { id, allow, password, expires_at } = input;
    const row = await this.links.require(actor, id);
    SHARE_LINK.requireRole(actor, row, 'share.manage');
    requireScope(actor, reachOf(allow ?? row.allow));
    if (allow) await this.requireShareable(workspaceOf(row), row.path, allow);
    const passwordHash = password ? await hashPassword(password) : null;
    await this.database.transaction(async unit => {
      await this.links.update(unit, id, {
        ...(allow && { allow }),
        ...(expires_at !== undefined && { expires_at: readEnd(expires_at) }),
        ...(password !== undefined && { password_hash: passwordHash }),
      });
      const details = { path: row.path, allow, expires_at, password_changed: password !== undefined };
      await this.audit.record(unit, actor, 'share.update', SHARE_LINK.target(row), details);
    });
    return this.read(actor, { id });
  }

  @Action('share_revoke', 'DELETE /api/share/:id', {
    on: { id: 'share' },
    summary: 'Revoke a share link; it no longer works. Organization admins may revoke any',
    consequence: 'The link never works again; another one can be made.',
    permission: 'share.revoke',
    input: ById({ id: 'The share link' }),
    output: DeletedView,
  })
  async revoke(actor: Actor, { id }: ById): Promise<DeletedView> {
    await this.database.transaction(async unit => {
      const row = await this.links.require(actor, id, unit);
      requireScope(actor, 'share.revoke');
      if (!organizationRoleAllows(row.organization_role, 'exposure.manage'))
        SHARE_LINK.requireRole(actor, row, 'share.revoke');
      await this.links.remove(unit, id);
      await this.audit.record(unit, actor, 'share.revoke', SHARE_LINK.target(row), { path: row.path });
    });
    return DeletedView.of(id);
  }

  @Subject('share', 'workspace', ({ id, organization_id }: VisibleWorkspace) => ({
    organization_id,
    workspace_id: id,
  }))
  async requireStanding(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
  ): Promise<VisibleWorkspace> {
    const { workspace_id } = await this.links.require(actor, id);
    return this.workspaces.require(actor, permission, workspace_id);
  }

  private async requireShareable(
    workspace: { id: string; number: number },
    path: string,
    allow: Allowance,
  ): Promise<void> {
    const { type } = await this.folders.open(workspace).stat(path);
    if (type !== 'file' && type !== 'directory') throw new Conflict('Only files and folders can be shared');
    if (allow === 'upload' && type !== 'directory') throw new Conflict(NOT_A_FOLDER);
  }
}

const reachOf = (allow: Allowance): WorkspacePermission => ALLOWANCES[allow].needs;

const workspaceOf = (row: AskedShareLinkRow) => ({ id: row.workspace_id, number: row.workspace_number });
