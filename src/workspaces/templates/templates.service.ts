import { Injectable, OnModuleInit } from '@nestjs/common';
import { OrganizationsStore, organizationDeleting } from '../../identity/organizations/index.js';
import { type Actor, type OrganizationPermission, requireScope } from '../../platform/access/index.js';
import { Action, Subject } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, newId } from '../../platform/database/index.js';
import { ById, DeletedView, Page } from '../../platform/dto/index.js';
import { Forbidden, unseenAs } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { Jobs } from '../../platform/jobs/index.js';
import { StoredElsewhere } from '../changes/index.js';
import { removeTemplateFiles } from './records/template-folders.js';
import { templateView, versionView } from './records/template-views.js';
import {
  ListTemplates,
  TemplatePage,
  type TemplateView,
  UpdateTemplate,
  WholeTemplateView,
} from './records/templates.dto.js';
import { type TemplateRow, TemplatesStore } from './records/templates.store.js';

@Injectable()
export class TemplatesService implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly templates: TemplatesStore,
    private readonly organizations: OrganizationsStore,
    private readonly jobs: Jobs,
    private readonly events: Events,
    private readonly audit: Audit,
    private readonly elsewhere: StoredElsewhere,
  ) {}

  onModuleInit(): void {
    this.elsewhere.add(workspaceId => this.templates.bytesOf(workspaceId));
    this.events.on(organizationDeleting, async (unit, { organization_id }) => {
      for (const folder of await this.templates.idsOf(unit, organization_id))
        await this.jobs.enqueue(unit, removeTemplateFiles, newId(), { folder });
    });
  }

  @Action('template_list', 'GET /api/templates', {
    summary: 'List and search the templates that the caller may make workspaces of',
    permission: 'template.read',
    input: ListTemplates,
    output: TemplatePage,
  })
  async list(actor: Actor, input: ListTemplates): Promise<Page<TemplateView>> {
    requireScope(actor, 'template.read');
    const page = await this.templates.list(actor, input);
    return { ...page, items: page.items.map(templateView) };
  }

  @Action('template_get', 'GET /api/templates/:id', {
    summary: 'Read a template with its versions, and with the findings of those that are blocked',
    permission: 'template.read',
    input: ById({ id: 'The template' }),
    output: WholeTemplateView,
    refuses: { 404: 'No such template' },
  })
  async read(actor: Actor, { id }: ById): Promise<WholeTemplateView> {
    requireScope(actor, 'template.read');
    const template = await this.templates.require(actor, id);
    const versions = await this.templates.versions(id);
    const shown = versions.filter(({ state }) => template.is_publisher || state === 'published');
    return {
      ...templateView(template),
      versions: shown.map(version => versionView(version, template.is_publisher)),
    };
  }

  @Action('template_update', 'PATCH /api/templates/:id', {
    on: { id: 'template' },
    summary: 'Change the name, the description or the visibility of a template',
    consequence: 'Those whom its visibility lets in can copy its files into workspaces of their own.',
    permission: 'template.update',
    input: UpdateTemplate,
    output: WholeTemplateView,
    refuses: { 404: 'No such template' },
  })
  async update(actor: Actor, { id, ...changes }: UpdateTemplate): Promise<WholeTemplateView> {
    const { organization_id, workspace_id } = await this.requireIn(actor, 'template.update', id);
    const { name, description, visibility } = changes;
    await this.database.transaction(async unit => {
      await this.templates.update(unit, id, {
        ...(name !== undefined && { name: name.trim() }),
        ...(description !== undefined && { description: description.trim() }),
        ...(visibility && { visibility }),
      });
      const target = { type: 'template', id, organization_id, workspace_id };
      await this.audit.record(unit, actor, 'template.update', target, changes);
    });
    return this.read(actor, { id });
  }

  @Action('template_delete', 'DELETE /api/templates/:id', {
    on: { id: 'template' },
    summary: 'Delete a template with all its versions; workspaces that were made of it stay',
    consequence: 'Its versions are gone for good, and no more workspaces are made of it.',
    permission: 'template.delete',
    input: ById({ id: 'The template' }),
    output: DeletedView,
    refuses: { 404: 'No such template' },
  })
  async delete(actor: Actor, { id }: ById): Promise<DeletedView> {
    const { organization_id, name, slug } = await this.requireIn(actor, 'template.delete', id);
    await this.database.deletion(async unit => {
      await this.templates.remove(unit, id);
      await this.jobs.enqueue(unit, removeTemplateFiles, newId(), { folder: id });
      const target = { type: 'template', id, organization_id, workspace_id: null };
      await this.audit.record(unit, actor, 'template.delete', target, { name, slug });
    });
    return DeletedView.of(id);
  }

  /** Admins of its organization, and those of its workspace. */
  @Subject('template', 'organization', ({ organization_id }: TemplateRow) => ({
    organization_id,
    workspace_id: null,
  }))
  async requireIn(actor: Actor, permission: OrganizationPermission, id: string): Promise<TemplateRow> {
    const template = await this.templates.require(actor, id);
    const { organization_id, is_publisher } = template;
    if (organization_id === null)
      throw new Forbidden('Templates that come with the service stay as they are');
    if (is_publisher) requireScope(actor, permission);
    else await unseenAs('No such template', this.organizations.require(actor, permission, organization_id));
    return template;
  }
}
