import { Injectable } from '@nestjs/common';
import { EgressRefusal, normalizeEntry, presets } from '#libs/egress-proxy/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { Field } from '../../platform/dto/index.js';
import { Conflict, Invalid, translateErrors } from '../../platform/errors/index.js';
import { Topics } from '../../platform/topics/index.js';
import { WorkspaceId, WorkspacesStore } from '../core/index.js';
import { EGRESS_MODES, type EgressRule, EgressStore, egressTopic, NOTHING } from './egress.store.js';

export const EGRESS_PRESETS = Object.keys(presets) as (keyof typeof presets)[];

const HOSTS = { list: true, max: 255, example: ['api.example.com', '*.pythonhosted.org'] };

export class UpdateEgress extends WorkspaceId {
  @Field.choice(
    'none: sandboxes reach no network; allow: they reach the hosts below, over HTTP and HTTPS. The first hosts or presets of a workspace set it to allow',
    EGRESS_MODES,
    { optional: true, shown: true, example: 'none' },
  )
  mode?: (typeof EGRESS_MODES)[number];

  @Field.text('Hosts, or *.domain for every name below a domain; they take the place of those before', {
    ...HOSTS,
    optional: true,
  })
  hosts?: string[];

  @Field.choice('Lists of hosts by name', EGRESS_PRESETS, { list: true, optional: true })
  presets?: (keyof typeof presets)[];
}

export class EgressView {
  @Field.choice('Whether sandboxes of the workspace reach listed hosts, or nothing', EGRESS_MODES)
  mode: string;

  @Field.text('Hosts that are listed one by one', HOSTS) hosts: string[];
  @Field.choice('Lists of hosts by name', EGRESS_PRESETS, { list: true }) presets: string[];

  @Field.text('All hosts that can be reached now: none, where the mode or the installation says so', HOSTS)
  reachable: string[];

  @Field.choice('What the operator of the installation allows at most', ['none', 'allowlist'])
  installation: string;
}

translateErrors(EgressRefusal, error => new Invalid(error.message));

@Injectable()
export class EgressService {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly egress: EgressStore,
    private readonly audit: Audit,
    private readonly topics: Topics,
  ) {}

  @Action('egress_get', 'GET /api/workspaces/:workspaceId/egress', {
    summary: 'Read which hosts the sandboxes of a workspace may connect to',
    permission: 'workspace.read',
    input: WorkspaceId,
    output: EgressView,
  })
  async read(actor: Actor, { workspace_id }: WorkspaceId): Promise<EgressView> {
    await this.workspaces.require(actor, 'workspace.read', workspace_id);
    return this.view(await this.egress.rule(workspace_id));
  }

  @Action('egress_update', 'PATCH /api/workspaces/:workspaceId/egress', {
    summary: 'Set which hosts the sandboxes of a workspace may connect to',
    consequence: 'Code in the sandboxes, agents included, can then send what it reads to these hosts.',
    permission: 'workspace.update',
    input: UpdateEgress,
    output: EgressView,
    refuses: { 409: 'The installation lets no sandbox connect to anything' },
  })
  async update(actor: Actor, { workspace_id, ...changes }: UpdateEgress): Promise<EgressView> {
    const hosts = changes.hosts && [...new Set(changes.hosts.map(normalizeEntry))].toSorted();
    const rule = await this.database.transaction(async unit => {
      const { id, organization_id } = await this.workspaces.requireLocked(
        unit,
        actor,
        'workspace.update',
        workspace_id,
      );
      const set = await this.egress.find(workspace_id, unit);
      const before = set ?? NOTHING;
      const { presets = before.presets } = changes;
      const listsFirst = !set && (hosts?.length || presets.length);
      const { mode = listsFirst ? 'allow' : before.mode } = changes;
      if (mode !== 'none' && this.config.sandboxEgress === 'none')
        throw new Conflict('This installation lets no sandbox connect to anything (SANDBOX_EGRESS=none)');
      const after = { mode, hosts: hosts ?? before.hosts, presets: [...new Set(presets)] };
      await this.egress.put(unit, workspace_id, actor.id, after);
      await this.topics.publishWithCommit(unit, egressTopic(workspace_id));
      const target = { type: 'workspace', id, organization_id, workspace_id };
      await this.audit.record(unit, actor, 'workspace.set_egress', target, { from: before, to: after });
      return after;
    });
    return this.view(rule);
  }

  private view(rule: EgressRule): EgressView {
    return { ...rule, reachable: this.egress.reachable(rule), installation: this.config.sandboxEgress };
  }
}
