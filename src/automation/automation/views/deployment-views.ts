import { Injectable } from '@nestjs/common';
import { type Database, iso, isoOrNull } from '../../../platform/database/index.js';
import type { VisibleWorkspace } from '../../../workspaces/core/index.js';
import { Closures } from '../deploying/closures.js';
import { TriggerSetups } from '../deploying/trigger-kinds.js';
import {
  type DeploymentRow,
  DeploymentsStore,
  type TriggerRow,
  type VersionRow,
} from '../records/deployments.store.js';
import type { DeploymentView, DriftView, TriggerView } from './automations.dto.js';
import { lineDiff } from './line-diff.js';
import { inSnakeCase } from './snake-case.js';

const FIRES_SHOWN = 10;

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
      id,
      workspace_id,
      file_path,
      state,
      paused_reason,
      version,
      failures_in_row,
      name: live?.definition.name ?? file_path,
      drift: await this.closures.driftOf(workspace, file_path, live?.digest),
      triggers: triggers.map(trigger => this.triggerView(trigger, deployment)),
      acts_for: actor.id,
      run_as: actor.credential.type === 'exec' ? actor.id : null,
      last_success_at: isoOrNull(deployment.last_success_at),
      created_at: iso(deployment.created_at),
      updated_at: iso(deployment.updated_at),
    };
  }

  /** With how its files have changed, and when its triggers last fired. */
  async whole(deployment: DeploymentRow, workspace: VisibleWorkspace): Promise<DeploymentView> {
    const view = await this.one(deployment, workspace);
    const { id, version } = deployment;
    const live = await this.deployments.version(id, version);
    const triggers = view.triggers.map(async trigger => ({
      ...trigger,
      last_fires: await this.deployments.lastFires(trigger.id, FIRES_SHOWN),
    }));
    return {
      ...view,
      triggers: await Promise.all(triggers),
      changes: view.drift === 'none' || !live ? [] : await this.changes(workspace, live),
    };
  }

  private async changes(
    workspace: VisibleWorkspace,
    { deployment_id, files }: VersionRow,
  ): Promise<DriftView[]> {
    const changes = files.map(async ({ path, sha256 }) => {
      const before = (await this.deployments.content(deployment_id, sha256))?.toString() ?? '';
      const diff = lineDiff(before, (await this.closures.textAt(workspace, path)) ?? '');
      return { path, diff };
    });
    return (await Promise.all(changes)).filter(({ diff }) => diff !== '');
  }

  private triggerView(trigger: TriggerRow, { state }: DeploymentRow): TriggerView {
    const { kind: _, ...config } = trigger.config;
    const { url = null, nextFires = [] } = this.setups.of(trigger.kind)?.facts(trigger) ?? {};
    const next = state === 'live' ? nextFires.map(time => time.toISOString()) : [];
    return { id: trigger.id, kind: trigger.kind, config: inSnakeCase(config), url, next_fires: next };
  }
}
