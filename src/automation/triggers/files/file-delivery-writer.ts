import { Injectable } from '@nestjs/common';
import { iso, newId, type UnitOfWork } from '../../../platform/database/index.js';
import type { LoggedChange } from '../../../workspaces/changes/index.js';
import {
  ChainGuard,
  DeliveriesStore,
  type DeploymentRow,
  DeploymentsStore,
  RunAcceptance,
} from '../../automation/index.js';
import { FilesStore } from './files.store.js';
import type { Window } from './window.js';

/** Of the changes that a delivery lists. */
const MAX_PAYLOAD = 256 * 1024;

type Part = NonNullable<Window['changes']>;

/** Makes one delivery of the changes that a window has gathered. */
@Injectable()
export class FileDeliveryWriter {
  constructor(
    private readonly files: FilesStore,
    private readonly deployments: DeploymentsStore,
    private readonly deliveries: DeliveriesStore,
    private readonly acceptance: RunAcceptance,
    private readonly guard: ChainGuard,
  ) {}

  /** A delivery that leads to a run. */
  async start(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    triggerId: string,
    changes: Part = NOTHING,
    reset: number | undefined,
  ): Promise<void> {
    const version = await this.deployments.version(deployment.id, deployment.version, unit);
    if (!version) return;
    const delivery = await this.createDelivery(unit, deployment, triggerId, changes, reset);
    if (await this.deliveries.see(unit, triggerId, delivery.key, delivery.id)) return;
    await this.acceptance.accept(unit, {
      deployment,
      place: deployment,
      definition: version.definition,
      draft: null,
      actor: deployment.actor,
      delivery,
    });
  }

  /** A delivery that leads to no run, with the reason. */
  async skip(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    triggerId: string,
    reason: string,
    part: Part,
  ): Promise<void> {
    const delivery = await this.createDelivery(unit, deployment, triggerId, part, undefined);
    const { id: deployment_id, workspace_id, version } = deployment;
    const end = { state: 'skipped', reason } as const;
    await this.deliveries.add(unit, { ...delivery, deployment_id, workspace_id, version }, end);
    await this.guard.skipped(unit, deployment, reason);
  }

  private async createDelivery(
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
