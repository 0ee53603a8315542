import { Injectable } from '@nestjs/common';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Gone, Unavailable } from '../../../platform/errors/index.js';
import {
  AutomationRunsStore,
  DeliveriesStore,
  type DeploymentRow,
  DeploymentsStore,
  Intake,
  matchesFilter,
  type WebhookTrigger,
} from '../../automation/index.js';
import type { Hook } from './hooks.store.js';
import type { WebhookInput } from './webhook-body.js';

const PAUSED_SECONDS = 3600;

/** What a sender is answered. */
export interface WebhookAnswer {
  readonly delivery_id: string;
  readonly run_id: string | null;
  /** `pending`: a run was started for it. */
  readonly status: 'pending' | 'completed' | 'error' | 'filtered' | 'skipped' | 'held';
  readonly reason?: string;
  readonly duplicate: boolean;
}

/** Writes down webhooks whose signature is right, and starts runs for them: all of it in one transaction, before the answer. */
@Injectable()
export class WebhookIntake {
  constructor(
    private readonly database: Database,
    private readonly deployments: DeploymentsStore,
    private readonly deliveries: DeliveriesStore,
    private readonly runs: AutomationRunsStore,
    private readonly intake: Intake,
  ) {}

  take(hook: Hook, config: WebhookTrigger, input: WebhookInput, key: string | null): Promise<WebhookAnswer> {
    return this.database.transaction(async unit => {
      const deployment = await this.deployments.lock(unit, hook.deployment_id);
      requireLive(deployment.state);
      const id = newId();
      const delivery = {
        ...{
          id,
          trigger_id: hook.id,
          kind: 'webhook' as const,
          key,
          headers: input.headers,
          chain: [],
          depth: 0,
        },
        ...{ untrusted: true, scheduled_for: null, payload: JSON.stringify(input) },
      };
      const place = {
        ...{ workspace_id: deployment.workspace_id, deployment_id: deployment.id },
        version: deployment.version,
      };
      if (!matchesFilter(config.filter, input)) {
        await this.deliveries.add(unit, { ...delivery, ...place }, { state: 'filtered', reason: null });
        return { delivery_id: id, run_id: null, status: 'filtered', duplicate: false };
      }
      const before = key === null ? undefined : await this.deliveries.see(unit, hook.id, key, id);
      const again = before === undefined ? undefined : await this.seen(unit, before);
      if (again && !again.isFailed) {
        const row = { ...delivery, ...place, headers: {}, payload: undefined };
        await this.deliveries.add(unit, row, {
          state: 'duplicate',
          reason: null,
          run_id: again.answer.run_id,
        });
        return again.answer;
      }
      if (key !== null && again) await this.deliveries.seeInstead(unit, hook.id, key, id);
      return this.accept(unit, deployment, delivery, again);
    });
  }

  private async accept(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    delivery: Parameters<Intake['accept']>[1]['delivery'],
    failed: Seen | undefined,
  ): Promise<WebhookAnswer> {
    const version = await this.deployments.version(deployment.id, deployment.version, unit);
    if (!version) throw new Gone('This automation is not deployed any more');
    const { deliveryId, runId, state, reason } = await this.intake.accept(unit, {
      ...{ deployment, place: deployment, definition: version.definition, draft: null },
      ...{ actor: deployment.actor, delivery },
      ...(failed?.answer.run_id && { replayOf: failed.answer.run_id, attempt: failed.attempt + 1 }),
    });
    const status = state === 'accepted' ? 'pending' : state === 'held' ? 'held' : 'skipped';
    return {
      ...{ delivery_id: deliveryId, run_id: runId, status, duplicate: false },
      ...(reason !== null && { reason }),
    };
  }

  /** What became of the delivery that had the key before. */
  private async seen(unit: UnitOfWork, deliveryId: string): Promise<Seen> {
    const first = await this.deliveries.find(deliveryId, unit);
    const run = first?.run_id ? await this.runs.find(first.run_id, unit) : undefined;
    const status = run?.status ?? (first?.state === 'held' ? 'held' : 'skipped');
    return {
      answer: { delivery_id: deliveryId, run_id: run?.id ?? null, status, duplicate: true },
      isFailed: status === 'error',
      attempt: run?.attempt ?? 1,
    };
  }
}

interface Seen {
  readonly answer: WebhookAnswer;
  readonly isFailed: boolean;
  readonly attempt: number;
}

export function requireLive(state: Hook['state']): void {
  if (state === 'paused')
    throw new Unavailable('This automation is paused', { 'retry-after': String(PAUSED_SECONDS) });
  if (state === 'stopped') throw new Gone('This automation is stopped');
}
