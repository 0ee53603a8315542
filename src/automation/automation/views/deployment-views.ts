import { Injectable } from '@nestjs/common';
import { type Database, iso, isoOrNull } from '../../../platform/database/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import type { VisibleWorkspace } from '../../../workspaces/core/index.js';
import { Closures, TriggerSetups } from '../deploying/index.js';
import { type DeploymentRow, DeploymentsStore, type TriggerRow } from '../records/index.js';
import type { DeploymentView, TriggerView } from './automations.dto.js';

type Drift = 'none' | 'changed' | 'missing' | 'invalid';

/** Deployments as they are shown. */
@Injectable()
export class DeploymentViews {
  constructor(
    private readonly deployments: DeploymentsStore,
    private readonly closures: Closures,
    private readonly setups: TriggerSetups,
  ) {}

  async one(
    deployment: DeploymentRow,
    workspace: VisibleWorkspace,
    within?: Pick<Database, 'tables'>,
  ): Promise<DeploymentView> {
    const { id, workspace_id, file_path, state, paused_reason, version, actor, failures_in_row } = deployment;
    const live = await this.deployments.version(id, version, within);
    const triggers = await this.deployments.triggers(id, within);
    return {
      ...{ id, workspace_id, file_path, state, paused_reason, version, failures_in_row },
      name: live?.definition.name ?? file_path,
      drift: await this.driftOf(workspace, deployment, live?.digest),
      triggers: triggers.map(trigger => this.triggerView(trigger, deployment)),
      acts_for: actor.id,
      last_success_at: isoOrNull(deployment.last_success_at),
      created_at: iso(deployment.created_at),
      updated_at: iso(deployment.updated_at),
    };
  }

  private triggerView(trigger: TriggerRow, { state }: DeploymentRow): TriggerView {
    const { kind: _, ...config } = trigger.config;
    const { url = null, nextFires = [] } = this.setups.of(trigger.kind)?.facts(trigger) ?? {};
    const next = state === 'live' ? nextFires.map(time => time.toISOString()) : [];
    return { id: trigger.id, kind: trigger.kind, config, url, next_fires: next };
  }

  private async driftOf(
    workspace: VisibleWorkspace,
    { file_path }: DeploymentRow,
    digest: string | undefined,
  ): Promise<Drift> {
    try {
      const closure = await this.closures.read(workspace, file_path);
      if (closure.digest === digest) return 'none';
      return closure.pinned === null ? 'invalid' : 'changed';
    } catch (error) {
      const problem = problemOf(error);
      if (problem?.status === 404) return 'missing';
      if (problem && problem.status < 500) return 'invalid';
      throw error;
    }
  }
}
