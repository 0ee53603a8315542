import { Injectable, OnModuleInit } from '@nestjs/common';
import { OrganizationsStore } from '../../../identity/organizations/index.js';
import type { Actor, Visibility } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Conflict, NotFound } from '../../../platform/errors/index.js';
import { Jobs } from '../../../platform/jobs/index.js';
import {
  type CreatedWorkspaceView,
  type FromTemplate,
  WorkspaceFolders,
  WorkspacesService,
  WorkspacesStore,
  workspaceView,
} from '../../core/index.js';
import { OperationsStore } from '../../operations/index.js';
import type { Manifest } from '../records/manifest.js';
import { valuesOf } from '../records/parameters.js';
import { cloneFiles, templateClone } from '../records/template-operations.js';
import { ClonedTemplateView, CloneTemplate } from '../records/templates.dto.js';
import { TemplatesStore, type VersionRow } from '../records/templates.store.js';

/** What a clone never has, so that it does nothing by itself. */
const DISARMED = [
  'members',
  'chats and their runs',
  'secrets and connections',
  'share links and forms that are open',
  'sites, servers and automations that run',
  'hosts that sandboxes may connect to',
];

@Injectable()
export class CloneService implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly templates: TemplatesStore,
    private readonly organizations: OrganizationsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly operations: OperationsStore,
    private readonly jobs: Jobs,
    private readonly audit: Audit,
    private readonly created: WorkspacesService,
  ) {}

  onModuleInit(): void {
    this.created.fromTemplateWith((actor, input) => this.create(actor, input));
  }

  @Action('template_clone', 'POST /api/templates/:id/clone', {
    summary: 'Make a workspace of a template, in the background',
    description:
      'The new workspace is of the caller alone (private), and disarmed: it has files, and no members, secrets, ' +
      'connections, share links, sites, servers or allowed hosts. `skipped` says what did not come along, `next_steps` ' +
      'what to do by hand.',
    permission: 'workspace.create',
    input: CloneTemplate,
    output: ClonedTemplateView,
    refuses: { 404: 'No such template', 409: 'No version of it is published' },
    commitsAnswer: true,
  })
  clone(actor: Actor, input: CloneTemplate): Promise<ClonedTemplateView> {
    return this.make(actor, { ...input, visibility: 'private' }, async (_unit, made) => made);
  }

  /** `POST /api/workspaces` with a template. */
  private create(actor: Actor, { template_id, ...input }: FromTemplate): Promise<CreatedWorkspaceView> {
    return this.make(actor, { ...input, id: template_id }, async (unit, { workspace_id, ...made }) => {
      const row = await this.workspaces.require(actor, 'workspace.read', workspace_id, unit);
      return { ...workspaceView(row), operation_id: made.operation_id, next_steps: made.next_steps };
    });
  }

  private async make<Answer extends object>(
    actor: Actor,
    input: CloneTemplate & { visibility: Visibility },
    answer: (unit: UnitOfWork, made: ClonedTemplateView) => Promise<Answer>,
  ): Promise<Answer> {
    const organization_id = input.organization_id ?? (await this.organizations.defaultFor(actor));
    await this.organizations.require(actor, 'workspace.create', organization_id);
    const template = await this.templates.require(actor, input.id);
    const version = await this.versionOf(input);
    const values = valuesOf(version.manifest, input.parameters ?? {});
    const name = input.name.trim();
    const source = { template_id: template.id, version: version.number };
    return this.database.transaction(async unit => {
      await this.organizations.keep(unit, organization_id);
      const target = await this.workspaces.add(unit, {
        organization_id,
        name,
        visibility: 'private',
        created_by: actor.id,
      });
      await this.templates.keepOrigin(unit, { workspace_id: target.id, ...source });
      const id = newId();
      await this.operations.add(unit, templateClone, {
        id,
        actor_id: actor.id,
        organization_id,
        subject_id: target.id,
        input: {
          template_id: template.id,
          version_id: version.id,
          target_id: target.id,
          visibility: input.visibility,
          values,
          skipped: DISARMED,
        },
      });
      const audited = { type: 'workspace', id: target.id, organization_id, workspace_id: target.id };
      await this.audit.record(unit, actor, 'template.clone', audited, { name, ...source });
      await this.folders.create(target);
      await this.jobs.enqueue(unit, cloneFiles, newId(), { operation_id: id });
      const made = {
        workspace_id: target.id,
        operation_id: id,
        skipped: [...DISARMED],
        next_steps: stepsOf(version.manifest),
      };
      return unit.answers(await answer(unit, made));
    });
  }

  private async versionOf({ id, version }: CloneTemplate): Promise<VersionRow> {
    const published = (await this.templates.versions(id)).filter(({ state }) => state === 'published');
    const found = version ? published.find(({ number }) => number === version) : published[0];
    if (found) return found;
    if (version) throw new NotFound(`The template has no published version ${version}`);
    throw new Conflict('No version of the template is published yet');
  }
}

function stepsOf({ connections = [], egress = [], next_steps = [] }: Partial<Manifest>): string[] {
  const connect = connections.map(provider => `Connect ${provider}`);
  const allow = egress.map(host => `Allow sandboxes to connect to ${host}`);
  return [...next_steps, ...connect, ...allow];
}
