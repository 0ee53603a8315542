import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database, newId, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { Conflict, TooManyRequests } from '../../../platform/errors/index.js';
import { Jobs } from '../../../platform/jobs/index.js';
import { WorkspacesStore } from '../../core/index.js';
import { OperationsStore } from '../../operations/index.js';
import { publishFiles, templatePublish } from '../records/template-operations.js';
import { PublishedTemplateView, PublishTemplate } from '../records/templates.dto.js';
import { TemplatesStore } from '../records/templates.store.js';

/** Of one organization, that run or wait. */
const MAX_UNDER_WAY = 20;

@Injectable()
export class PublishService {
  constructor(
    private readonly database: Database,
    private readonly templates: TemplatesStore,
    private readonly workspaces: WorkspacesStore,
    private readonly operations: OperationsStore,
    private readonly jobs: Jobs,
    private readonly audit: Audit,
  ) {}

  @Action('template_publish', 'POST /api/templates', {
    summary: 'Publish a workspace as a version of a template, in the background',
    description:
      'Its files are copied without .git, node_modules, .env files, keys, what .atelierignore names and what ' +
      'template.yaml excludes, and all of the copy is scanned for secrets. Where something looks like one, the version ' +
      'is blocked: GET /api/templates/{id} lists the findings with path and line; remove the secrets, or publish again ' +
      'with the fingerprints of those that are none in `acknowledge`. A version never changes.',
    consequence: 'Those whom its visibility lets in can copy its files into workspaces of their own.',
    permission: 'template.publish',
    input: PublishTemplate,
    output: PublishedTemplateView,
    refuses: {
      409: 'Another workspace has published under this slug',
      429: 'Too many templates of the organization are being published',
    },
    commitsAnswer: true,
  })
  async publish(actor: Actor, input: PublishTemplate): Promise<PublishedTemplateView> {
    const workspace = await this.workspaces.require(actor, 'template.publish', input.workspace_id);
    const { organization_id, id: workspace_id } = workspace;
    if ((await this.operations.countUnderWay(organization_id, templatePublish)) >= MAX_UNDER_WAY)
      throw new TooManyRequests(
        `${MAX_UNDER_WAY} templates of this organization are being published; try again when some are done`,
      );
    return this.database.transaction(async unit => {
      const template = await this.templateFor(unit, actor, workspace, input);
      const [id, versionId] = [newId(), newId()];
      const version = await this.templates.addVersion(unit, versionId, template.id, actor);
      await this.operations.add(unit, templatePublish, {
        id,
        actor_id: actor.id,
        organization_id,
        subject_id: workspace_id,
        chain: actor.chain,
        input: {
          template_id: template.id,
          version_id: versionId,
          name: input.name?.trim() ?? null,
          visibility: input.visibility ?? null,
          acknowledge: input.acknowledge ?? [],
        },
      });
      const target = { type: 'template', id: template.id, organization_id, workspace_id };
      const { slug } = template;
      const visibility = input.visibility ?? template.visibility;
      const details = { slug, version, visibility, acknowledged: input.acknowledge?.length ?? 0 };
      await this.audit.record(unit, actor, 'template.publish', target, details);
      await this.jobs.enqueue(unit, publishFiles, newId(), { operation_id: id });
      return unit.answers({ template_id: template.id, version, operation_id: id });
    });
  }

  private async templateFor(
    unit: UnitOfWork,
    actor: Actor,
    { id, organization_id, name: workspaceName }: Row<'workspace'>,
    input: PublishTemplate,
  ): Promise<Row<'template'>> {
    const own = await this.templates.ofWorkspace(unit, id);
    const [only] = own;
    if (!input.slug && only && own.length === 1) return only;
    const name = input.name?.trim() ?? workspaceName;
    const slug = input.slug ?? slugOf(name);
    const made = await this.templates.add(unit, {
      organization_id,
      workspace_id: id,
      slug,
      name,
      description: '',
      created_by: actor.id,
      visibility: input.visibility ?? 'org',
    });
    const there = made ?? (await this.templates.bySlug(unit, organization_id, slug));
    if (there?.workspace_id !== id)
      throw new Conflict(`Another workspace has published a template as ${slug}; choose another slug`);
    return there;
  }
}

function slugOf(name: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60);
  const slug = plain.replace(/^-|-$/g, '');
  return slug.length >= 2 ? slug : `template-${slug || newId().slice(-6)}`;
}
