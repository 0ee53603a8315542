import { Injectable } from '@nestjs/common';
import { Budgets } from '../../../identity/billing/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import type { AutomationDefinition } from '../file/automation-definition.js';
import {
  AutomationRunsStore,
  type Lane,
  type NewRun,
  type OpenRuns,
} from '../records/automation-runs.store.js';
import { automationSkipped, type Pinned } from '../records/automation-states.js';
import {
  DeliveriesStore,
  type DeliveryEnd,
  type DeliveryRow,
  type NewDelivery,
} from '../records/deliveries.store.js';
import type { DeploymentRow } from '../records/deployments.store.js';
import { ChainGuard } from './chain-guard.js';
import { DayLimits } from './day-limits.js';
import { RunEnds } from './run-ends.js';

const MAX_QUEUED = 100;

/** Reasons that go on until somebody does something, or time passes: people are told of each once a day. */
const TOLD = ['budget', 'queue_full', 'runs_per_day', 'daily_usd', 'waiting_for_approval'];

/** Something for an automation, which is about to lead to a run. */
export interface Incoming {
  /** null: a draft. */
  readonly deployment: DeploymentRow | null;
  readonly place: Pick<DeploymentRow, 'organization_id' | 'workspace_id' | 'file_path'>;
  readonly definition: AutomationDefinition;
  readonly draft: Pinned | null;
  /** On whose authority it runs. */
  readonly actor: Actor;
  readonly delivery: Omit<NewDelivery, 'workspace_id' | 'deployment_id' | 'version'>;
  /** The version that it runs, where that is not the one that is live. */
  readonly version?: number;
  /** A person or a program asks for it, and waits for the answer: the limits of a day are not theirs. */
  readonly isAsked?: boolean;
  readonly replayOf?: string;
  readonly attempt?: number;
  /** A delivery that was held until now; nothing is added for it again. */
  readonly held?: DeliveryRow;
}

/** What became of it. */
export interface Accepted {
  readonly deliveryId: string;
  readonly runId: string | null;
  readonly state: DeliveryRow['state'];
  readonly reason: string | null;
}

/** Turns what comes in into a delivery and, where nothing is against it, a run: both in one transaction. */
@Injectable()
export class RunAcceptance {
  constructor(
    private readonly deliveries: DeliveriesStore,
    private readonly runs: AutomationRunsStore,
    private readonly dayLimits: DayLimits,
    private readonly ends: RunEnds,
    private readonly guard: ChainGuard,
    private readonly budgets: Budgets,
    private readonly events: Events,
  ) {}

  /** `unit` has locked the deployment, where there is one. */
  async accept(unit: UnitOfWork, incoming: Incoming): Promise<Accepted> {
    const [accepted] = await this.acceptAll(unit, [incoming]);
    return accepted as Accepted;
  }

  /** What each led to, in their order; each statement is for as many of them as say nothing about one another. */
  async acceptAll(unit: UnitOfWork, all: readonly Incoming[]): Promise<Accepted[]> {
    const accepted: Accepted[] = [];
    for (const some of apart(all.map(inLane))) accepted.push(...(await this.acceptApart(unit, some)));
    return accepted;
  }

  private async acceptApart(unit: UnitOfWork, some: readonly InLane[]): Promise<Accepted[]> {
    await this.runs.lockLanes(unit, some.filter(isShared));
    const open = await this.openIn(unit, some);
    const facts = new Facts(
      scope => this.budgets.isReached(unit, scope),
      () =>
        this.runs.approvalsOf(
          [...open.values()].flatMap(({ ids }) => ids),
          unit,
        ),
    );
    const decided: Decided[] = [];
    const told = new Set<string>();
    for (const one of some) {
      const inLane = open.get(nameOf(one)) as CountedRuns;
      const against = await this.against(unit, one.incoming, inLane, facts);
      await this.tell(unit, one.incoming.deployment, against?.reason ?? null, told);
      const end = against ?? { state: 'accepted' as const, reason: null, run_id: newId() };
      decided.push({ ...one, end });
      if (!end.run_id) continue;
      // The next of its lane finds it there.
      inLane.queued++;
      inLane.ids.push(end.run_id);
    }
    await this.write(unit, decided);
    await this.runs.addAll(unit, decided.filter(({ end }) => end.run_id).map(runOf));
    for (const { incoming, end } of decided)
      if (incoming.deployment && end.reason) await this.guard.skipped(unit, incoming.deployment, end.reason);
    return decided.map(({ id, end }) => ({
      deliveryId: id,
      runId: end.run_id ?? null,
      state: end.state,
      reason: end.reason,
    }));
  }

  /** The runs of lanes that have not ended. */
  private async openIn(unit: UnitOfWork, some: readonly InLane[]): Promise<Map<string, CountedRuns>> {
    const lanes = [...new Map(some.map(one => [nameOf(one), one])).entries()];
    const open = await this.runs.openIn(
      unit,
      lanes.map(([, one]) => one),
    );
    return new Map(
      lanes.map(([name], at) => {
        const { queued = 0, ids = [] } = open[at] ?? {};
        return [name, { queued, ids: [...ids] }];
      }),
    );
  }

  private async write(unit: UnitOfWork, decided: readonly Decided[]): Promise<void> {
    await this.deliveries.addAll(
      unit,
      decided
        .filter(({ incoming }) => !incoming.held)
        .map(({ id, incoming, end }) => ({
          delivery: {
            ...incoming.delivery,
            id,
            workspace_id: incoming.place.workspace_id,
            deployment_id: incoming.deployment?.id ?? null,
            version: versionOf(incoming),
          },
          end,
        })),
    );
    for (const { incoming, end } of decided)
      if (incoming.held) await this.deliveries.update(unit, incoming.held.id, end);
  }

  /** Why it leads to no run; `open` are the runs of its lane. */
  private async against(
    unit: UnitOfWork,
    { deployment, place, definition, delivery, held, isAsked = false }: Incoming,
    open: OpenRuns,
    facts: Facts,
  ): Promise<DeliveryEnd | undefined> {
    const skipped = (reason: string) => ({ state: 'skipped' as const, reason });
    // What was held has passed the guard.
    const objection = held ? undefined : await this.guard.against(unit, deployment, place, delivery);
    if (objection) return skipped(objection);
    const { organization_id: organizationId, workspace_id: workspaceId } = place;
    if (definition.work.kind === 'agent' && (await facts.isBudgetReached({ organizationId, workspaceId })))
      return skipped('budget');
    if (deployment && !isAsked) {
      const cap = await this.dayLimits.reached(unit, deployment.id, definition);
      if (cap && delivery.kind === 'schedule') return skipped(cap.reason);
      if (cap) return { state: 'held', reason: cap.reason, held_until: cap.until };
    }
    const { policy: chosen } = definition.concurrency;
    const policy = chosen ?? (delivery.kind === 'schedule' ? 'skip' : 'queue');
    if (policy === 'skip' && open.ids.length > 0) {
      const approval = await facts.approvalOf(open.ids);
      return skipped(approval ? `waiting_for_approval:${approval}` : 'still_running');
    }
    if (policy === 'replace') for (const id of open.ids) await this.ends.cancel(unit, id, 'replaced');
    else if (open.queued >= MAX_QUEUED) return skipped('queue_full');
    return undefined;
  }

  /** Once a day for each reason; `told` is what this transaction has told. */
  private async tell(
    unit: UnitOfWork,
    deployment: DeploymentRow | null,
    because: string | null,
    told: Set<string>,
  ): Promise<void> {
    const [reason = ''] = (because ?? '').split(':');
    if (!deployment || !TOLD.includes(reason) || told.has(`${deployment.id} ${reason}`)) return;
    told.add(`${deployment.id} ${reason}`);
    if (await this.deliveries.wasKeptBack(unit, deployment.id, reason)) return;
    await this.events.publish(unit, automationSkipped, { deployment_id: deployment.id, reason });
  }
}

/** What a transaction asks once, however many of those that it is about want to know it. */
class Facts {
  private readonly budgets = new Map<string, Promise<boolean>>();
  private approvals: Promise<ReadonlyMap<string, string>> | undefined;

  constructor(
    private readonly isReached: (scope: BudgetScope) => Promise<boolean>,
    private readonly approvalsOfAll: () => Promise<ReadonlyMap<string, string>>,
  ) {}

  isBudgetReached(scope: BudgetScope): Promise<boolean> {
    const known = this.budgets.get(scope.workspaceId) ?? this.isReached(scope);
    this.budgets.set(scope.workspaceId, known);
    return known;
  }

  /** The approval that one of these runs waits for. */
  async approvalOf(ids: readonly string[]): Promise<string | undefined> {
    this.approvals ??= this.approvalsOfAll();
    const approvals = await this.approvals;
    return ids.map(id => approvals.get(id)).find(approval => approval !== undefined);
  }
}

interface BudgetScope {
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** As {@link OpenRuns}, with what is added meanwhile. */
interface CountedRuns {
  queued: number;
  readonly ids: string[];
}

/** With the lane of its run, and the id of its delivery. */
interface InLane extends Lane {
  readonly id: string;
  readonly incoming: Incoming;
}

interface Decided extends InLane {
  readonly end: DeliveryEnd;
}

function inLane(incoming: Incoming): InLane {
  const { deployment, place, definition, delivery } = incoming;
  const lane = definition.concurrency.group ?? deployment?.id ?? newId();
  return { id: delivery.id ?? newId(), workspaceId: place.workspace_id, lane, incoming };
}

/**
 * Whether others than its deployment, which is locked, may add to the lane or end its runs: those of a group, or one that
 * replaces what is about to begin.
 */
const isShared = ({ incoming: { definition } }: InLane): boolean =>
  definition.concurrency.group !== null || definition.concurrency.policy === 'replace';

const nameOf = ({ workspaceId, lane }: Lane): string => `${workspaceId} ${lane}`;
const versionOf = ({ version, deployment }: Incoming): number | null =>
  version ?? deployment?.version ?? null;

/**
 * In their order, in groups that statements are made for together. In a group no deployment and no lane comes twice, as what one
 * leads to is counted before the next; but for those of which the runs of their lane are all that counts.
 */
function apart(all: readonly InLane[]): InLane[][] {
  const groups: InLane[][] = [];
  let seen = new Set<string>();
  for (const one of all) {
    const names = [nameOf(one), one.incoming.deployment?.id ?? one.id];
    const isTwice = names.some(name => seen.has(name));
    if (groups.length === 0 || (isTwice && !isCountedByLane(one, groups.at(-1) ?? []))) {
      groups.push([]);
      seen = new Set();
    }
    groups.at(-1)?.push(one);
    for (const name of names) seen.add(name);
  }
  return groups;
}

/** Whether the runs in its lane are all that is counted for it, and for those of the group that it has anything to do with. */
function isCountedByLane(one: InLane, group: readonly InLane[]): boolean {
  const { deployment } = one.incoming;
  return group
    .filter(other => nameOf(other) === nameOf(one) || other.incoming.deployment?.id === deployment?.id)
    .concat(one)
    .every(({ incoming: { deployment: each, definition, delivery, isAsked = false } }) => {
      const { runsPerDay, dailyUsd } = definition.limits;
      const hasCaps = !isAsked && (runsPerDay !== null || dailyUsd !== null);
      return (
        each !== null &&
        each.id === deployment?.id &&
        delivery.kind === 'webhook' &&
        definition.concurrency.policy !== 'replace' &&
        !hasCaps
      );
    });
}

function runOf({ id: delivery_id, lane, incoming, end }: Decided): NewRun {
  const { deployment, place, definition, draft, actor, delivery } = incoming;
  const { organization_id, workspace_id, file_path } = place;
  const chain = [...delivery.chain, ...(deployment ? [deployment.id] : [])];
  const led = { deployments: chain, depth: delivery.depth + 1, untrusted: delivery.untrusted };
  return {
    id: end.run_id as string,
    organization_id,
    workspace_id,
    file_path,
    delivery_id,
    deployment_id: deployment?.id ?? null,
    version: versionOf(incoming),
    draft,
    actor: { ...actor, surface: undefined, chain: led },
    trigger_kind: delivery.kind,
    kind: definition.work.kind,
    lane,
    lane_max: definition.concurrency.max,
    chain,
    scheduled_for: delivery.scheduled_for?.toISOString() ?? null,
    replay_of: incoming.replayOf ?? null,
    attempt: incoming.attempt ?? 1,
    is_asked: incoming.isAsked ?? false,
  };
}
