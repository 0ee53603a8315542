import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { Config } from '../../../platform/config/index.js';
import { Database, iso, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Log } from '../../../platform/log/index.js';
import { DueTimers } from '../../../platform/schedule/index.js';
import type { LoggedChange } from '../../../workspaces/changes/index.js';
import {
  ChainGuard,
  DeliveriesStore,
  type DeploymentRow,
  DeploymentsStore,
  Intake,
} from '../../automation/index.js';
import { ChangeReader } from './change-reader.js';
import { type DueFileTrigger, FILE_WINDOWS, FilesStore } from './files.store.js';
import type { Window } from './window.js';

const WORKSPACES_AT_ONCE = 20;
/** Workspaces that are read, and deployments that are fired, at the same time. */
const AT_ONCE = 4;
/** Of the changes that a delivery lists. */
const MAX_PAYLOAD = 256 * 1024;

type Part = NonNullable<Window['changes']>;

/** Makes one delivery of what a window has gathered, and its run: in one transaction, with the end of the window. */
@Injectable()
export class WindowFiring implements OnApplicationBootstrap {
  private readonly turns = new ConcurrencyLimit(AT_ONCE);

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly files: FilesStore,
    private readonly reader: ChangeReader,
    private readonly deployments: DeploymentsStore,
    private readonly deliveries: DeliveriesStore,
    private readonly intake: Intake,
    private readonly guard: ChainGuard,
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
    if (changes || reset !== undefined) await this.start(unit, deployment, id, changes, reset);
    for (const [reason, part] of Object.entries({ own_change, depth }))
      if (part) await this.skip(unit, deployment, id, reason, part);
    await this.files.clearWindow(unit, id);
  }

  private async start(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    triggerId: string,
    changes: Part = NOTHING,
    reset: number | undefined,
  ): Promise<void> {
    const version = await this.deployments.version(deployment.id, deployment.version, unit);
    if (!version) return;
    const delivery = await this.deliveryOf(unit, deployment, triggerId, changes, reset);
    if (await this.deliveries.see(unit, triggerId, delivery.key, delivery.id)) return;
    await this.intake.accept(unit, {
      deployment,
      place: deployment,
      definition: version.definition,
      draft: null,
      actor: deployment.actor,
      delivery,
    });
  }

  private async skip(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    triggerId: string,
    reason: string,
    part: Part,
  ): Promise<void> {
    const delivery = await this.deliveryOf(unit, deployment, triggerId, part, undefined);
    const { id: deployment_id, workspace_id, version } = deployment;
    const end = { state: 'skipped', reason } as const;
    await this.deliveries.add(unit, { ...delivery, deployment_id, workspace_id, version }, end);
    await this.guard.skipped(unit, deployment, reason);
  }

  private async deliveryOf(
    unit: UnitOfWork,
    { workspace_id }: DeploymentRow,
    triggerId: string,
    { ids, total, last, chain }: Part,
    reset: number | undefined,
  ) {
    const rows = await this.files.changes(unit, workspace_id, ids);
    const payload = {
      changes: listed(rows),
      total,
      ...(reset !== undefined && { reset: true }),
    };
    return {
      id: newId(),
      trigger_id: triggerId,
      kind: 'file' as const,
      headers: {},
      scheduled_for: null,
      key: reset === undefined ? String(last) : `reset:${reset}:${last}`,
      chain: [...chain.deployments],
      depth: chain.depth,
      untrusted: chain.untrusted,
      payload: JSON.stringify(payload),
    };
  }
}

const NOTHING: Part = {
  ids: [],
  total: 0,
  last: 0,
  chain: { deployments: [], depth: 0, untrusted: false },
};

/** As many as there is room for. */
function listed(rows: readonly LoggedChange[]): object[] {
  const views: object[] = [];
  let room = MAX_PAYLOAD;
  for (const row of rows) {
    const { path, kind, from_path, size, etag, writer_type, writer_id, run_id } = row;
    const view = {
      id: Number(row.id),
      path,
      kind,
      from: from_path,
      size: size === null ? null : Number(size),
      etag,
      writer: { type: writer_type, id: writer_id },
      run_id,
      time: iso(row.changed_at),
    };
    room -= Buffer.byteLength(JSON.stringify(view));
    if (room < 0) break;
    views.push(view);
  }
  return views;
}
