import { Injectable, OnModuleInit } from '@nestjs/common';
import { type Actor, FEATURES, type Feature } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, newId } from '../../platform/database/index.js';
import { Field } from '../../platform/dto/index.js';
import { Jobs } from '../../platform/jobs/index.js';
import { endFeature, WorkspaceId, WorkspacesStore } from '../core/index.js';
import { DuplicateService } from '../duplicate/index.js';

const MEANING = {
  agents: 'Messages to agents, and their runs',
  mcp: 'The workspace over MCP: its files, tools, chats and actions at /mcp',
  sandbox: 'Commands in the sandbox, of people and of agents',
  sharing: 'Share links and file invitations: making them, and what they open',
};

export class UpdateFeatures extends WorkspaceId {
  @Field.boolean(MEANING.agents, { optional: true }) agents?: boolean;
  @Field.boolean(MEANING.mcp, { optional: true }) mcp?: boolean;
  @Field.boolean(MEANING.sandbox, { optional: true }) sandbox?: boolean;
  @Field.boolean(MEANING.sharing, { optional: true, shown: true }) sharing?: boolean;
}

export class FeaturesView {
  @Field.boolean(MEANING.agents) agents: boolean;
  @Field.boolean(MEANING.mcp) mcp: boolean;
  @Field.boolean(MEANING.sandbox) sandbox: boolean;
  @Field.boolean(MEANING.sharing) sharing: boolean;
}

/** The access policy refuses features that are turned off, on every surface. */
@Injectable()
export class FeaturesService implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly duplicates: DuplicateService,
    private readonly jobs: Jobs,
    private readonly audit: Audit,
  ) {}

  onModuleInit(): void {
    this.duplicates.inheritWith((unit, from, { id }) => this.workspaces.copyFeatures(unit, from, id));
  }

  @Action('features_get', 'GET /api/workspaces/:workspaceId/features', {
    summary: 'Tell which features of a workspace are on',
    permission: 'workspace.read',
    input: WorkspaceId,
    output: FeaturesView,
  })
  async read(actor: Actor, { workspace_id }: WorkspaceId): Promise<FeaturesView> {
    const { features_off } = await this.workspaces.require(actor, 'workspace.read', workspace_id);
    return viewOf(features_off);
  }

  @Action('features_update', 'PATCH /api/workspaces/:workspaceId/features', {
    summary: 'Turn features of a workspace off or on; those that are not named stay as they are',
    consequence:
      'What is turned on can be used again, and share links answer again; what is turned off is refused to everyone, and ends where it is under way.',
    permission: 'workspace.update',
    input: UpdateFeatures,
    output: FeaturesView,
  })
  async update(actor: Actor, { workspace_id, ...wanted }: UpdateFeatures): Promise<FeaturesView> {
    return this.database.transaction(async unit => {
      const workspace = await this.workspaces.requireLocked(unit, actor, 'workspace.update', workspace_id);
      const before = viewOf(workspace.features_off);
      const named = FEATURES.filter(name => wanted[name] !== undefined);
      const isOn = (name: Feature) => wanted[name] ?? before[name];
      const features_off = FEATURES.filter(name => !isOn(name));
      await this.workspaces.update(unit, workspace_id, { features_off });
      const after = viewOf(features_off);
      const pick = (view: FeaturesView) => Object.fromEntries(named.map(name => [name, view[name]]));
      const { id, organization_id } = workspace;
      const target = { type: 'workspace', id, organization_id, workspace_id };
      const details = { from: pick(before), to: pick(after) };
      await this.audit.record(unit, actor, 'workspace.set_features', target, details);
      for (const feature of named)
        if (!after[feature]) await this.jobs.enqueue(unit, endFeature, newId(), { workspace_id, feature });
      return after;
    });
  }
}

const viewOf = (off: readonly Feature[]): FeaturesView =>
  Object.fromEntries(FEATURES.map(name => [name, !off.includes(name)])) as Record<Feature, boolean>;
