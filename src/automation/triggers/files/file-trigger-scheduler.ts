import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { Config } from '../../../platform/config/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Log } from '../../../platform/log/index.js';
import { DueTimers } from '../../../platform/schedule/index.js';
import type { DeploymentRow } from '../../automation/index.js';
import { ChangeReader } from './change-reader.js';
import { FileDeliveryWriter } from './file-delivery-writer.js';
import { type DueFileTrigger, FILE_WINDOWS, FilesStore } from './files.store.js';

const WORKSPACES_AT_ONCE = 20;
/** Workspaces that are read, and deployments that are fired, at the same time. */
const AT_ONCE = 4;

/** Fires file triggers whose windows have ended: a delivery, its run and the end of the window are one transaction. */
@Injectable()
export class FileTriggerScheduler implements OnApplicationBootstrap {
  private readonly turns = new ConcurrencyLimit(AT_ONCE);

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly files: FilesStore,
    private readonly reader: ChangeReader,
    private readonly deliveries: FileDeliveryWriter,
    private readonly timers: DueTimers,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      topic: FILE_WINDOWS,
      take: () => this.take(),
      next: () => this.files.next(),
      failure: 'firing file triggers failed; trying again',
    });
  }

  private async take(): Promise<number> {
    const workspaces = await this.files.dueWorkspaces(WORKSPACES_AT_ONCE);
    const fired = await Promise.allSettled(workspaces.map(id => this.fireIn(id)));
    const failed = fired.find(one => one.status === 'rejected');
    if (failed) throw failed.reason;
    return fired.reduce((sum, one) => sum + (one.status === 'fulfilled' ? one.value : 0), 0);
  }

  private async fireIn(workspaceId: string): Promise<number> {
    const due = await this.turns.run(async () => {
      // What happened by now belongs to the window, or keeps it open.
      await this.reader.read(workspaceId);
      await this.reader.extend(workspaceId);
      return this.files.due(workspaceId);
    });
    const deployments = [...new Set(due.map(one => one.deployment_id))];
    const fired = await Promise.all(deployments.map(id => this.turns.run(() => this.fireSafely(id))));
    return fired.reduce((sum, count) => sum + count, 0);
  }

  /** One that cannot be fired keeps none of the others from it. */
  private async fireSafely(deploymentId: string): Promise<number> {
    try {
      return await this.database.transaction(async unit => {
        const due = await this.files.takeDue(unit, deploymentId);
        for (const trigger of due?.triggers ?? []) if (due) await this.fire(unit, due.deployment, trigger);
        return due?.triggers.length ?? 0;
      });
    } catch (error) {
      this.log.error(
        { err: error, deployment_id: deploymentId },
        'a file trigger did not fire; trying again',
      );
      await this.database.transaction(unit => this.files.putOff(unit, deploymentId));
      return 0;
    }
  }

  private async fire(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    { id, gathered }: DueFileTrigger,
  ): Promise<void> {
    const { changes, own_change, depth, reset } = gathered;
    if (changes || reset !== undefined) await this.deliveries.start(unit, deployment, id, changes, reset);
    for (const [reason, part] of Object.entries({ own_change, depth }))
      if (part) await this.deliveries.skip(unit, deployment, id, reason, part);
    await this.files.clearWindow(unit, id);
  }
}
