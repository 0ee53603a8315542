import { Injectable } from '@nestjs/common';
import { GatheredWork } from '#libs/gathered-work/index.js';
import { isDeadlock, isOutage } from '#libs/resilient-postgres/index.js';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Gone, Unavailable } from '../../../platform/errors/index.js';
import {
  type AutomationDefinition,
  AutomationRunsStore,
  DeliveriesStore,
  type DeploymentRow,
  DeploymentsStore,
  type Incoming,
  RunAcceptance,
} from '../../automation/index.js';
import type { Hook } from './hooks.store.js';

const PAUSED_SECONDS = 3600;
const FULL_SECONDS = 60;
/** Reason of a delivery that its sender is asked to send again. */
const QUEUE_FULL = 'queue_full';

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
  readonly headers: Readonly<Record<string, string>>;
  /** What came, as JSON. */
  readonly payload: string | Uint8Array;
  /** What tells it from others of its trigger, where its sender says. */
  readonly key: string | null;
  /** Why the filter of its trigger does not let it through; null where it does. */
  readonly filtered: string | null;
}

/** A webhook with what it becomes. */
interface Taken extends Webhook {
  readonly id: string;
  readonly delivery: Incoming['delivery'];
  readonly deployment: DeploymentRow;
  readonly definition: AutomationDefinition;
}

/** Of one transaction. */
const MAX_TOGETHER = 50;
const MAX_BYTES_TOGETHER = 4_000_000;

/** An answer, or what its sender gets instead; undefined where the webhook has to be taken on its own. */
type Outcome = WebhookAnswer | Error | undefined;

/**
 * Writes down webhooks whose signature is right, and starts runs for them, before the answer. What comes while others are
 * written down is written down with the next ones, in one transaction. What that cannot take, because others work on its
 * deployment or because something in it fails, is written down with those of its own deployment, and at last alone.
 */
@Injectable()
export class WebhookIntake {
  private readonly together: GatheredWork<Webhook, Outcome>;
  private readonly ofDeployment: GatheredWork<Webhook, Outcome>;

  constructor(
    private readonly database: Database,
    private readonly deployments: DeploymentsStore,
    private readonly deliveries: DeliveriesStore,
    private readonly runs: AutomationRunsStore,
    private readonly acceptance: RunAcceptance,
  ) {
    const rules = {
      maxItems: MAX_TOGETHER,
      maxSize: MAX_BYTES_TOGETHER,
      sizeOf: ({ payload }: Webhook) => payload.length,
      isAfterTurn: true,
    };
    this.together = new GatheredWork((_, webhooks) => this.attempt(webhooks, false), rules);
    this.ofDeployment = new GatheredWork((_, webhooks) => this.attempt(webhooks, true), rules);
  }

  async take(webhook: Webhook): Promise<WebhookAnswer> {
    const isLarge = webhook.payload.length > MAX_BYTES_TOGETHER;
    const outcome =
      (!isLarge && (await this.together.do('', webhook))) ||
      (!isLarge && (await this.ofDeployment.do(webhook.hook.deployment_id, webhook))) ||
      (await this.takeAll([webhook], true))[0];
    if (outcome === undefined) throw new Gone('This automation is not deployed any more');
    if (outcome instanceof Error) throw outcome;
    return outcome;
  }

  /** Nothing is written down of any where one fails, so that each can be tried again with fewer others. */
  private async attempt(webhooks: readonly Webhook[], waits: boolean): Promise<Outcome[]> {
    try {
      return await this.takeAll(webhooks, waits);
    } catch (error) {
      if (isOutage(error) && !isDeadlock(error)) throw error;
      return webhooks.map(() => undefined);
    }
  }

  private takeAll(webhooks: readonly Webhook[], waits: boolean): Promise<Outcome[]> {
    return this.database.transaction(async unit => {
      const ids = [...new Set(webhooks.map(({ hook }) => hook.deployment_id))];
      const locked = await this.deployments.lockLive(unit, ids, { waits });
      const live = new Map(locked.map(each => [each.deployment.id, each]));
      const taken: Taken[] = [];
      const places = webhooks.map(webhook => {
        const { deployment, definition } = live.get(webhook.hook.deployment_id) ?? {};
        if (!deployment) return undefined;
        const against = reasonAgainst(deployment.state);
        if (against) return against;
        if (!definition) return new Gone('This automation is not deployed any more');
        const one = takenOf(webhook, deployment, definition);
        taken.push(one);
        return one.id;
      });
      const answers = await this.answersTo(unit, taken);
      return places.map(place => (typeof place === 'string' ? answers.get(place) : place));
    });
  }

  private async answersTo(
    unit: UnitOfWork,
    taken: readonly Taken[],
  ): Promise<Map<string, WebhookAnswer | Error>> {
    const answers = new Map<string, WebhookAnswer | Error>();
    const { wanted, copies, unwanted } = sorted(taken);
    for (const { id, filtered } of unwanted) {
      const answer = { delivery_id: id, run_id: null, status: 'filtered', duplicate: false } as const;
      answers.set(id, { ...answer, ...(filtered !== null && { reason: filtered }) });
    }
    const again = await this.seenAgain(unit, wanted);
    const accepted: Taken[] = [];
    const repeated: Taken[] = [];
    for (const one of wanted) {
      const seen = again.get(one.id);
      if (!seen || seen.isFailed) accepted.push(one);
      else {
        answers.set(one.id, seen.answer);
        repeated.push(one);
      }
    }
    for (const [at, answer] of (await this.accept(unit, accepted, again)).entries())
      answers.set(accepted[at]?.id ?? '', answer);
    for (const [one, first] of copies) {
      const answer = answers.get(first.id) as WebhookAnswer | Error;
      if (answer instanceof Error) answers.set(one.id, answer);
      else {
        answers.set(one.id, { ...answer, duplicate: true });
        repeated.push(one);
      }
    }
    await this.deliveries.addAll(unit, [
      ...unwanted.map(one => ({
        delivery: rowOf(one),
        end: { state: 'filtered' as const, reason: one.filtered },
      })),
      ...repeated.map(one => ({
        delivery: { ...rowOf(one), headers: {}, payload: undefined },
        end: { state: 'duplicate' as const, reason: null, run_id: runIdOf(answers.get(one.id)) },
      })),
    ]);
    return answers;
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

  private async accept(
    unit: UnitOfWork,
    taken: readonly Taken[],
    again: ReadonlyMap<string, Seen>,
  ): Promise<(WebhookAnswer | Error)[]> {
    if (taken.length === 0) return [];
    const incoming = taken.map(({ id, deployment, definition, delivery }): Incoming => {
      const failed = again.get(id);
      return {
        deployment,
        place: deployment,
        definition,
        draft: null,
        actor: deployment.actor,
        delivery,
        ...(failed?.answer.run_id && { replayOf: failed.answer.run_id, attempt: failed.attempt + 1 }),
      };
    });
    const accepted = await this.acceptance.acceptAll(unit, incoming);
    return accepted.map(({ deliveryId, runId, state, reason }) => {
      if (reason === QUEUE_FULL)
        return new Unavailable('A hundred runs of this automation wait already; send it again later', {
          'retry-after': String(FULL_SECONDS),
        });
      return {
        delivery_id: deliveryId,
        run_id: runId,
        duplicate: false,
        status: state === 'accepted' ? 'pending' : state === 'held' ? 'held' : 'skipped',
        ...(reason !== null && { reason }),
      };
    });
  }

  /** What became of the delivery that had the key before. */
  private async seen(unit: UnitOfWork, deliveryId: string): Promise<Seen> {
    const first = await this.deliveries.find(deliveryId, unit);
    const run = first?.run_id ? await this.runs.find(first.run_id, unit) : undefined;
    const status = run?.status ?? (first?.state === 'held' ? 'held' : 'skipped');
    return {
      answer: { delivery_id: deliveryId, run_id: run?.id ?? null, status, duplicate: true },
      isFailed: status === 'error' || first?.reason === QUEUE_FULL,
      attempt: run?.attempt ?? 1,
    };
  }
}

function takenOf(webhook: Webhook, deployment: DeploymentRow, definition: AutomationDefinition): Taken {
  const { hook, headers, payload, key } = webhook;
  const id = newId();
  const delivery = {
    id,
    trigger_id: hook.id,
    kind: 'webhook' as const,
    key,
    headers,
    chain: [],
    depth: 0,
    untrusted: true,
    scheduled_for: null,
    payload,
  };
  return { ...webhook, id, delivery, deployment, definition };
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
    if (one.filtered !== null) unwanted.push(one);
    else if (first) copies.push([one, first]);
    else {
      firsts.set(name, one);
      wanted.push(one);
    }
  }
  return { wanted, unwanted, copies };
}

const rowOf = ({ delivery, deployment: { id, workspace_id, version } }: Taken) => ({
  ...delivery,
  workspace_id,
  deployment_id: id,
  version,
});

const runIdOf = (answer: WebhookAnswer | Error | undefined): string | null =>
  answer === undefined || answer instanceof Error ? null : answer.run_id;

interface Seen {
  readonly answer: WebhookAnswer;
  readonly isFailed: boolean;
  readonly attempt: number;
}

function reasonAgainst(state: Hook['state']): Error | undefined {
  if (state === 'paused')
    return new Unavailable('This automation is paused', { 'retry-after': String(PAUSED_SECONDS) });
  return state === 'stopped' ? new Gone('This automation is stopped') : undefined;
}

export function requireLive(state: Hook['state']): void {
  const against = reasonAgainst(state);
  if (against) throw against;
}
