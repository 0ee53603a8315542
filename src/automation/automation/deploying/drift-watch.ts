import { Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Database } from '../../../platform/database/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { Events } from '../../../platform/events/index.js';
import { type DueTimer, DueTimers } from '../../../platform/schedule/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { changesTopic } from '../../../workspaces/changes/index.js';
import { WorkspacesStore } from '../../../workspaces/core/index.js';
import { AUTOMATION_TRIGGERS, automationDrifted } from '../records/automation-states.js';
import { type DeploymentRow, DeploymentsStore } from '../records/deployments.store.js';
import { Closures } from './closures.js';

const AT_ONCE = 10;

/**
 * Looks whether files that were deployed have changed since, as soon as their workspace has: people are told once for each
 * version, as its edits are not what runs.
 */
@Injectable()
export class DriftWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  /** By the workspace. */
  private readonly watched = new Map<string, () => void>();
  private timer: DueTimer | undefined;
  private isStale = true;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly deployments: DeploymentsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly closures: Closures,
    private readonly events: Events,
    private readonly topics: Topics,
    private readonly timers: DueTimers,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    const unsubscribe = this.topics.subscribe(AUTOMATION_TRIGGERS, () => {
      this.isStale = true;
      this.timer?.wake();
    });
    this.watched.set('', unsubscribe);
    this.timer = this.timers.start({
      take: () => this.take(),
      failure: 'looking for changes to the files of automations failed; trying again',
    });
  }

  onApplicationShutdown(): void {
    for (const unsubscribe of this.watched.values()) unsubscribe();
  }

  private async take(): Promise<number> {
    if (this.isStale) await this.watch();
    const touched = await this.deployments.touched(AT_ONCE);
    for (const { deployment, changedAt } of touched) {
      const drift = await this.driftOf(deployment);
      await this.database.transaction(async unit => {
        if (!(await this.deployments.lookedAt(unit, deployment, changedAt, drift))) return;
        if (drift !== deployment.drift && drift !== 'none')
          await this.events.publish(unit, automationDrifted, { deployment_id: deployment.id });
      });
    }
    return touched.length;
  }

  /** Subscribes to the changes of the workspaces in which something is deployed. */
  private async watch(): Promise<void> {
    this.isStale = false;
    try {
      for (const id of await this.deployments.workspacesWithAny())
        if (!this.watched.has(id))
          this.watched.set(
            id,
            this.topics.subscribe(changesTopic(id), () => this.timer?.wake()),
          );
    } catch (error) {
      this.isStale = true;
      throw error;
    }
  }

  /** As whoever it acts for sees the files; as it was where they see them no more, which its next run says. */
  private async driftOf(deployment: DeploymentRow): Promise<DeploymentRow['drift']> {
    const { actor, workspace_id, file_path, id, version } = deployment;
    try {
      const reader = { ...actor, credential: { ...actor.credential, scopes: null } };
      const workspace = await this.workspaces.require(reader, 'file.read', workspace_id);
      const live = await this.deployments.version(id, version);
      return await this.closures.driftOf(workspace, file_path, live?.digest);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
      return deployment.drift;
    }
  }
}
