import { Injectable } from '@nestjs/common';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { automationSkipped } from '../records/automation-states.js';
import { DeliveriesStore, type NewDelivery } from '../records/deliveries.store.js';
import { type DeploymentRow, DeploymentsStore } from '../records/deployments.store.js';

/** Deployments that may have led to one another before it ends. */
const MAX_DEPTH = 4;
/** Deliveries that lead to a run of one deployment within a minute, unless its schedule, a webhook or a person makes them. */
const MAX_A_MINUTE = 60;
/** Deliveries skipped within an hour, because automations start each other, of which people are notified. */
const REPORTED_SKIPS = 10;

const LOOP_REASONS = ['own_change', 'depth'] as const;
const REASONS = [...LOOP_REASONS, 'rate'] as const;
type GuardReason = (typeof REASONS)[number];

/** Whether it is for one of these reasons that something was skipped. */
export const isGuarded = (reason: string | null): boolean =>
  (REASONS as readonly (string | null)[]).includes(reason);

/** What may come in: by what, and what led to it. */
type Led = Pick<NewDelivery, 'kind' | 'chain' | 'depth'>;

/** Keeps automations from starting themselves, by way of others too, and from starting each other without an end. */
@Injectable()
export class ChainGuard {
  constructor(
    private readonly deliveries: DeliveriesStore,
    private readonly deployments: DeploymentsStore,
    private readonly events: Events,
  ) {}

  /** Why it must not start the deployment; of a draft, the one of the same file. */
  async against(
    unit: UnitOfWork,
    deployment: DeploymentRow | null,
    place: Pick<DeploymentRow, 'workspace_id' | 'file_path'>,
    led: Led,
  ): Promise<GuardReason | undefined> {
    const ofFile = deployment ?? (led.depth > 0 && (await this.ofFile(unit, place)));
    if (ofFile) {
      const reason = loopReason(ofFile.id, led.chain, led.depth);
      if (reason) return reason;
    } else if (led.depth >= MAX_DEPTH) return 'depth';
    if (!deployment || !isCounted(led)) return undefined;
    return (await this.deliveries.lastMinute(unit, deployment.id)) >= MAX_A_MINUTE ? 'rate' : undefined;
  }

  /** A delivery was skipped for this reason: the tenth within an hour is told of, and no other for the hour after. */
  async skipped(unit: UnitOfWork, { id }: DeploymentRow, reason: string): Promise<void> {
    if (!(LOOP_REASONS as readonly string[]).includes(reason)) return;
    if ((await this.deliveries.skippedLastHour(unit, id, LOOP_REASONS)) < REPORTED_SKIPS) return;
    if (!(await this.deployments.reportLoops(unit, id))) return;
    await this.events.publish(unit, automationSkipped, { deployment_id: id, reason: 'loop' });
  }

  private ofFile(
    unit: UnitOfWork,
    { workspace_id, file_path }: Pick<DeploymentRow, 'workspace_id' | 'file_path'>,
  ): Promise<DeploymentRow | undefined> {
    return this.deployments.findAt(workspace_id, file_path, unit);
  }
}

/** Why what these deployments led to must not start another one. */
export function loopReason(
  deploymentId: string,
  chain: readonly string[],
  depth: number,
): (typeof LOOP_REASONS)[number] | undefined {
  if (chain.includes(deploymentId)) return 'own_change';
  return depth >= MAX_DEPTH ? 'depth' : undefined;
}

/** What other automations could cause without an end. (Webhooks are limited before they are taken in.) */
const isCounted = ({ kind, depth }: Led): boolean =>
  kind === 'file' || kind === 'notification' || (kind === 'manual' && depth > 0);
