import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { Topics } from '../../../platform/topics/index.js';
import type { AutomationDefinition } from '../file/automation-definition.js';
import { AutomationRunsStore } from '../records/automation-runs.store.js';
import { AUTOMATION_RUNS_QUEUED, AUTOMATION_TRIGGERS } from '../records/automation-states.js';
import { type DeploymentRow, DeploymentsStore, type NewVersion } from '../records/deployments.store.js';
import { RunEnds } from '../running/run-ends.js';
import { type TriggerSecret, TriggerSetups } from './trigger-kinds.js';

/** The secret of one trigger. */
export type NewSecret = TriggerSecret & { readonly trigger_id: string };

/** Moves deployments from one state to another, with what starts them. */
@Injectable()
export class Deployer {
  constructor(
    private readonly deployments: DeploymentsStore,
    private readonly runs: AutomationRunsStore,
    private readonly setups: TriggerSetups,
    private readonly ends: RunEnds,
    private readonly topics: Topics,
  ) {}

  async deploy(
    unit: UnitOfWork,
    place: Pick<DeploymentRow, 'organization_id' | 'workspace_id' | 'file_path'>,
    who: { readonly deployedBy: Actor; readonly acting: Actor },
    version: NewVersion,
  ): Promise<{ deployment: DeploymentRow; secrets: NewSecret[] }> {
    const deployment = await this.deployments.deploy(unit, place, who, version);
    return { deployment, secrets: await this.begin(unit, deployment, version.pinned.definition, true) };
  }

  async pause(unit: UnitOfWork, id: string, reason: string | null): Promise<DeploymentRow> {
    return this.deployments.halt(unit, id, 'paused', reason);
  }

  async resume(unit: UnitOfWork, id: string): Promise<DeploymentRow> {
    const changes = { state: 'live', paused_reason: null, failures_in_row: 0 } as const;
    const deployment = await this.deployments.change(unit, id, changes);
    const version = await this.deployments.version(id, deployment.version, unit);
    if (version) await this.begin(unit, deployment, version.definition);
    return deployment;
  }

  /** Makes an older version live; whoever asks is whom it acts for. */
  async rollBack(
    unit: UnitOfWork,
    id: string,
    actor: Actor,
    version: { number: number; definition: AutomationDefinition },
  ): Promise<DeploymentRow> {
    const { number, definition } = version;
    const changes = {
      state: 'live',
      paused_reason: null,
      failures_in_row: 0,
      version: number,
      actor,
    } as const;
    const deployment = await this.deployments.change(unit, id, changes);
    await this.begin(unit, deployment, definition);
    return deployment;
  }

  async stop(unit: UnitOfWork, id: string, cancelsRuns: boolean): Promise<DeploymentRow> {
    const deployment = await this.deployments.halt(unit, id, 'stopped', null);
    if (cancelsRuns) for (const run of await this.runs.openOf(unit, id)) await this.ends.cancel(unit, run.id);
    return deployment;
  }

  private async begin(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    { triggers }: AutomationDefinition,
    isDeployed = false,
  ): Promise<NewSecret[]> {
    const secrets: NewSecret[] = [];
    for (const { row, ...change } of await this.deployments.setTriggers(unit, deployment.id, triggers)) {
      const secret = await this.setups.of(row.kind)?.begin(unit, deployment, row, { ...change, isDeployed });
      if (secret) secrets.push({ trigger_id: row.id, ...secret });
    }
    await this.deployments.watchSilence(unit, deployment.id);
    await this.topics.publishWithCommit(unit, AUTOMATION_TRIGGERS);
    // What waited while it was paused may start.
    await this.topics.publishWithCommit(unit, AUTOMATION_RUNS_QUEUED);
    return secrets;
  }
}
