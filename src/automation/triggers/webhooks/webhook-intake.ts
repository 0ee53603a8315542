import { Injectable } from '@nestjs/common';
import { GatheredWork } from '#libs/gathered-work/index.js';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Gone, Unavailable } from '../../../platform/errors/index.js';
import {
  AutomationRunsStore,
  DeliveriesStore,
  type DeploymentRow,
  DeploymentsStore,
  type Incoming,
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

/** A webhook whose signature is right. */
interface Webhook {
  readonly hook: Hook;
  readonly config: WebhookTrigger;
  readonly input: WebhookInput;
  /** The input as JSON. */
  readonly payload: string;
  /** What tells it from others of its trigger, where its sender says. */
  readonly key: string | null;
}

type Delivery = Incoming['delivery'];

/** A webhook with what it becomes. */
interface Taken extends Webhook {
  readonly id: string;
  readonly delivery: Delivery;
}

/** Of one transaction. */
const MAX_TOGETHER = 50;
const MAX_BYTES_TOGETHER = 16_000_000;

/**
 * Writes down webhooks whose signature is right, and starts runs for them, before the answer. What comes for a deployment while
 * others of it are written down is written down with the next ones, in one transaction.
 */
@Injectable()
export class WebhookIntake {
  private readonly gathered: GatheredWork<Webhook, WebhookAnswer>;

  constructor(
    private readonly database: Database,
    private readonly deployments: DeploymentsStore,
    private readonly deliveries: DeliveriesStore,
    private readonly runs: AutomationRunsStore,
    private readonly intake: Intake,
  ) {
    this.gathered = new GatheredWork((deploymentId, webhooks) => this.takeAll(deploymentId, webhooks), {
      maxItems: MAX_TOGETHER,
      maxSize: MAX_BYTES_TOGETHER,
      sizeOf: ({ payload }) => payload.length,
    });
  }

  take(hook: Hook, config: WebhookTrigger, input: WebhookInput, key: string | null): Promise<WebhookAnswer> {
    const payload = JSON.stringify(input);
    return this.gathered.do(hook.deployment_id, { hook, config, input, payload, key });
  }

  private takeAll(deploymentId: string, webhooks: readonly Webhook[]): Promise<WebhookAnswer[]> {
    return this.database.transaction(async unit => {
      const deployment = await this.deployments.lock(unit, deploymentId);
      requireLive(deployment.state);
      const taken = webhooks.map(webhook => takenOf(webhook));
      const answers = new Map<string, WebhookAnswer>();
      const { wanted, copies, unwanted } = sorted(taken);
      for (const one of unwanted) answers.set(one.id, await this.filter(unit, deployment, one));
      const again = await this.seenAgain(unit, wanted);
      const accepted: Taken[] = [];
      for (const one of wanted) {
        const seen = again.get(one.id);
        if (!seen || seen.isFailed) accepted.push(one);
        else answers.set(one.id, await this.repeat(unit, deployment, one, seen.answer));
      }
      for (const [at, answer] of (await this.accept(unit, deployment, accepted, again)).entries())
        answers.set(accepted[at]?.id ?? '', answer);
      for (const [one, first] of copies) {
        const answer = { ...(answers.get(first.id) as WebhookAnswer), duplicate: true };
        answers.set(one.id, await this.repeat(unit, deployment, one, answer));
      }
      return taken.map(({ id }) => answers.get(id) as WebhookAnswer);
    });
  }

  /** What became of those before with the same keys, by the ids of the new ones; of those that failed, the new one counts. */
  private async seenAgain(unit: UnitOfWork, wanted: readonly Taken[]): Promise<Map<string, Seen>> {
    const keyed = wanted.flatMap(({ id, hook, key }) =>
      key === null ? [] : [{ id, trigger_id: hook.id, key }],
    );
    const again = new Map<string, Seen>();
    if (keyed.length === 0) return again;
    const fresh = await this.deliveries.seeAll(unit, keyed);
    for (const { id, trigger_id, key } of keyed) {
      const before = fresh.has(id) ? undefined : await this.deliveries.see(unit, trigger_id, key, id);
      if (before === undefined) continue;
      const seen = await this.seen(unit, before);
      again.set(id, seen);
      if (seen.isFailed) await this.deliveries.seeInstead(unit, trigger_id, key, id);
    }
    return again;
  }

  private async filter(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    { id, delivery }: Taken,
  ): Promise<WebhookAnswer> {
    const row = { ...delivery, ...placeOf(deployment) };
    await this.deliveries.add(unit, row, { state: 'filtered', reason: null });
    return { delivery_id: id, run_id: null, status: 'filtered', duplicate: false };
  }

  private async repeat(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    { delivery }: Taken,
    answer: WebhookAnswer,
  ): Promise<WebhookAnswer> {
    const row = { ...delivery, ...placeOf(deployment), headers: {}, payload: undefined };
    await this.deliveries.add(unit, row, { state: 'duplicate', reason: null, run_id: answer.run_id });
    return answer;
  }

  private async accept(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    taken: readonly Taken[],
    again: ReadonlyMap<string, Seen>,
  ): Promise<WebhookAnswer[]> {
    if (taken.length === 0) return [];
    const version = await this.deployments.version(deployment.id, deployment.version, unit);
    if (!version) throw new Gone('This automation is not deployed any more');
    const incoming = taken.map(({ id, delivery }): Incoming => {
      const failed = again.get(id);
      return {
        ...{ deployment, place: deployment, definition: version.definition, draft: null },
        ...{ actor: deployment.actor, delivery },
        ...(failed?.answer.run_id && { replayOf: failed.answer.run_id, attempt: failed.attempt + 1 }),
      };
    });
    const accepted = await this.intake.acceptAll(unit, incoming);
    return accepted.map(({ deliveryId, runId, state, reason }) => ({
      ...{ delivery_id: deliveryId, run_id: runId, duplicate: false },
      status: state === 'accepted' ? 'pending' : state === 'held' ? 'held' : 'skipped',
      ...(reason !== null && { reason }),
    }));
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

function takenOf(webhook: Webhook): Taken {
  const { hook, input, payload, key } = webhook;
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
    ...{ untrusted: true, scheduled_for: null, payload },
  };
  return { ...webhook, id, delivery };
}

/** What the filter of its trigger lets through, each key once; the later ones of a key, each with its first. */
function sorted(taken: readonly Taken[]): {
  wanted: Taken[];
  unwanted: Taken[];
  copies: (readonly [Taken, Taken])[];
} {
  const unwanted: Taken[] = [];
  const wanted: Taken[] = [];
  const copies: (readonly [Taken, Taken])[] = [];
  const firsts = new Map<string, Taken>();
  for (const one of taken) {
    const name = one.key === null ? one.id : `${one.hook.id} ${one.key}`;
    const first = firsts.get(name);
    if (!matchesFilter(one.config.filter, one.input)) unwanted.push(one);
    else if (first) copies.push([one, first]);
    else {
      firsts.set(name, one);
      wanted.push(one);
    }
  }
  return { wanted, unwanted, copies };
}

const placeOf = ({ id, workspace_id, version }: DeploymentRow) => ({
  workspace_id,
  deployment_id: id,
  version,
});

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
