import { Injectable, OnModuleInit } from '@nestjs/common';
import { OrganizationsStore, organizationDeleting } from '../../identity/organizations/index.js';
import { type Actor, requireScope, type Visibility } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, newId, type Row, UnitOfWork } from '../../platform/database/index.js';
import { DeletedView, Page } from '../../platform/dto/index.js';
import { Forbidden, Invalid } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { Jobs } from '../../platform/jobs/index.js';
import { WorkspaceFolders } from './workspace-folders.js';
import {
  CreatedWorkspaceView,
  CreateWorkspace,
  ListWorkspaces,
  SetVisibility,
  UpdateWorkspace,
  WorkspaceId,
  WorkspacePage,
  WorkspaceView,
} from './workspaces.dto.js';
import { removeFolder } from './workspaces.jobs.js';
import { WorkspacesStore, workspaceView } from './workspaces.store.js';

/** What a workspace is made of a template by. */
export type FromTemplate = CreateWorkspace & { template_id: string; visibility: Visibility };
type MakeFromTemplate = (actor: Actor, input: FromTemplate) => Promise<CreatedWorkspaceView>;

@Injectable()
export class WorkspacesService implements OnModuleInit {
  private makeFromTemplate: MakeFromTemplate | undefined;

  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly organizations: OrganizationsStore,
    private readonly folders: WorkspaceFolders,
    private readonly jobs: Jobs,
    private readonly events: Events,
    private readonly audit: Audit,
  ) {}

  /** The feature of templates registers itself while modules start. */
  fromTemplateWith(make: MakeFromTemplate): void {
    this.makeFromTemplate = make;
  }

  onModuleInit(): void {
    this.events.on(organizationDeleting, async (unit, { organization_id }) => {
      for (const id of await this.workspaces.idsOf(unit, organization_id)) await this.retire(unit, id);
    });
  }

  @Action('workspace_list', 'GET /api/workspaces', {
    tool: {
      name: 'list_workspaces',
      title: 'List workspaces',
      description: 'List the workspaces that you see, with their ids, which the other tools take.',
    },
    summary: 'List the workspaces that the caller sees',
    permission: 'workspace.list',
    input: ListWorkspaces,
    output: WorkspacePage,
  })
  async list(actor: Actor, input: ListWorkspaces): Promise<Page<WorkspaceView>> {
    requireScope(actor, 'workspace.list');
    const page = await this.workspaces.list(actor, input);
    return { ...page, items: page.items.map(workspaceView) };
  }

  @Action('workspace_create', 'POST /api/workspaces', {
    summary: 'Create a workspace',
    permission: 'workspace.create',
    input: CreateWorkspace,
    output: CreatedWorkspaceView,
    refuses: { 404: 'No such template', 409: 'No version of the template is published' },
    commitsAnswer: true,
  })
  async create(actor: Actor, input: CreateWorkspace): Promise<CreatedWorkspaceView> {
    const { template_id, visibility = 'org' } = input;
    if (template_id !== undefined && this.makeFromTemplate)
      return this.makeFromTemplate(actor, { ...input, template_id, visibility });
    if (input.version !== undefined || input.parameters !== undefined)
      throw new Invalid('version and parameters are those of a template: send its template_id as well');
    const organization_id = input.organization_id ?? (await this.organizations.defaultFor(actor));
    await this.organizations.require(actor, 'workspace.create', organization_id);
    const name = input.name.trim();
    return this.database.transaction(async unit => {
      await this.organizations.keep(unit, organization_id);
      const fields = { organization_id, name, visibility, created_by: actor.id };
      const workspace = await this.workspaces.add(unit, fields);
      await this.audit.record(unit, actor, 'workspace.create', targetOf(workspace), { name, visibility });
      await this.folders.create(workspace);
      const row = await this.workspaces.require(actor, 'workspace.read', workspace.id, unit);
      return unit.answers({ ...workspaceView(row), operation_id: null, next_steps: [] });
    });
  }

  @Action('workspace_get', 'GET /api/workspaces/:workspaceId', {
    summary: 'Read a workspace',
    permission: 'workspace.read',
    input: WorkspaceId,
    output: WorkspaceView,
  })
  async read(actor: Actor, { workspace_id }: WorkspaceId): Promise<WorkspaceView> {
    return workspaceView(await this.workspaces.require(actor, 'workspace.read', workspace_id));
  }

  @Action('workspace_update', 'PATCH /api/workspaces/:workspaceId', {
    summary: 'Rename a workspace',
    effect: 'write',
    permission: 'workspace.update',
    input: UpdateWorkspace,
    output: WorkspaceView,
  })
  async update(actor: Actor, { workspace_id, name }: UpdateWorkspace): Promise<WorkspaceView> {
    await this.change(actor, workspace_id, 'workspace.update', 'name', name.trim());
    return this.read(actor, { workspace_id });
  }

  @Action('workspace_visibility_set', 'PATCH /api/workspaces/:workspaceId/visibility', {
    summary: 'Set who in the organization sees a workspace',
    consequence: 'Who sees the workspace changes for the whole organization.',
    permission: 'workspace.update',
    input: SetVisibility,
    output: WorkspaceView,
  })
  async setVisibility(actor: Actor, { workspace_id, visibility }: SetVisibility): Promise<WorkspaceView> {
    await this.change(
      actor,
      workspace_id,
      'workspace.set_visibility',
      'visibility',
      visibility,
      workspace => {
        if (visibility === 'private' && workspace.created_by !== actor.id)
          throw new Forbidden('Only its creator can make a workspace private');
      },
    );
    return this.read(actor, { workspace_id });
  }

  @Action('workspace_delete', 'DELETE /api/workspaces/:workspaceId', {
    summary: 'Delete a workspace with its files and chats',
    consequence: 'Its files with their history, its chats and its share links are gone for good.',
    permission: 'workspace.delete',
    input: WorkspaceId,
    output: DeletedView,
  })
  async delete(actor: Actor, { workspace_id }: WorkspaceId): Promise<DeletedView> {
    await this.database.deletion(async unit => {
      const workspace = await this.workspaces.requireLocked(unit, actor, 'workspace.delete', workspace_id);
      await this.retire(unit, workspace_id);
      const { name } = workspace;
      await this.audit.record(unit, actor, 'workspace.delete', targetOf(workspace), { name });
      await this.workspaces.remove(unit, workspace_id);
    });
    return DeletedView.of(workspace_id);
  }

  private async change<K extends 'name' | 'visibility'>(
    actor: Actor,
    id: string,
    action: string,
    field: K,
    to: Row<'workspace'>[K],
    check: (workspace: Row<'workspace'>) => void = () => undefined,
  ): Promise<void> {
    await this.database.transaction(async unit => {
      const workspace = await this.workspaces.requireLocked(unit, actor, 'workspace.update', id);
      check(workspace);
      await this.workspaces.update(unit, id, { [field]: to });
      const details = { [field]: { from: workspace[field], to } };
      await this.audit.record(unit, actor, action, targetOf(workspace), details);
    });
  }

  private async retire(unit: UnitOfWork, workspace_id: string): Promise<void> {
    await this.jobs.enqueue(unit, removeFolder, newId(), { workspace_id });
  }
}

function targetOf({ id, organization_id }: Row<'workspace'>) {
  return { type: 'workspace', id, organization_id, workspace_id: id };
}
