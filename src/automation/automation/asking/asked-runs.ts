import { Injectable } from '@nestjs/common';
import { type Actor, type Chain, NO_CHAIN } from '../../../platform/access/index.js';
import { Database, dryRun } from '../../../platform/database/index.js';
import { Conflict, NotFound, PaymentRequired } from '../../../platform/errors/index.js';
import { LongPolls } from '../../../platform/streams/index.js';
import { type AutomationRunRow, AutomationRunsStore } from '../records/automation-runs.store.js';
import { automationRunTopic, type Pinned } from '../records/automation-states.js';
import { DeliveriesStore, type DeliveryRow } from '../records/deliveries.store.js';
import { DeploymentsStore } from '../records/deployments.store.js';
import { isGuarded } from '../running/chain-guard.js';
import { type Incoming, RunAcceptance } from '../running/run-acceptance.js';
import type { AutomationRunView } from '../views/automations.dto.js';
import { RunViews } from './run-views.js';

/** Starts runs for callers, who learn at once where one cannot be started, and waits for their ends. */
@Injectable()
export class AskedRuns {
  constructor(
    private readonly database: Database,
    private readonly deployments: DeploymentsStore,
    private readonly runs: AutomationRunsStore,
    private readonly deliveries: DeliveriesStore,
    private readonly acceptance: RunAcceptance,
    private readonly views: RunViews,
    private readonly polls: LongPolls,
  ) {}

  async start(incoming: Omit<Incoming, 'isAsked'>, wait = 0): Promise<AutomationRunView> {
    const view = await this.database.transaction(async unit => {
      const { deployment } = incoming;
      if (deployment) await this.deployments.lock(unit, deployment.id);
      const { runId, reason } = await this.acceptance.accept(unit, { ...incoming, isAsked: true });
      const run = runId && (await this.runs.find(runId, unit));
      if (run) return unit.answers(await this.views.one(run, unit));
      const refusal = refusalFor(reason);
      // What automations do to each other stays to be seen among the deliveries.
      if (isGuarded(reason)) return refusal;
      throw refusal;
    });
    if (view instanceof Error) throw view;
    if (wait === 0 || dryRun()) return view;
    const run = await this.runs.find(view.run_id);
    return run ? this.views.one(await this.atEnd(run, wait)) : view;
  }

  /** Starts a run again with what came in for it. */
  async replay(actor: Actor, run: AutomationRunRow, which: 'same' | 'live'): Promise<AutomationRunView> {
    const delivery = await this.deliveries.find(run.delivery_id);
    if (!delivery) throw new Conflict('What came in is not kept any more; trigger it with an input');
    return this.again(actor, delivery, run, which);
  }

  /** Starts an automation again with what came in before; `run` is the one that it led to, where it led to one. */
  async again(
    actor: Actor,
    delivery: DeliveryRow,
    run: AutomationRunRow | undefined,
    which: 'same' | 'live',
  ): Promise<AutomationRunView> {
    if (delivery.payload_bytes > 0 && !delivery.has_payload)
      throw new Conflict('What came in is not kept any more; trigger it with an input');
    const deploymentId = run?.deployment_id ?? delivery.deployment_id;
    const deployment = (deploymentId && (await this.deployments.find(deploymentId))) || null;
    const number = which === 'live' ? deployment?.version : (run?.version ?? delivery.version);
    const version = deployment && number ? await this.deployments.version(deployment.id, number) : undefined;
    const definition = version?.definition ?? run?.draft?.definition;
    const place = deployment ?? run;
    if (!definition || !place) throw new Conflict('Its version is not kept any more');
    const led = ledBy(actor);
    const payload = await this.deliveries.payloadOf(delivery);
    const draft: Pinned | null = version ? null : (run?.draft ?? null);
    const { organization_id, workspace_id, file_path } = place;
    const { kind, headers, untrusted, trigger_id } = delivery;
    return this.start({
      deployment,
      definition,
      actor,
      draft,
      version: version?.number,
      place: { organization_id, workspace_id, file_path },
      delivery: {
        trigger_id,
        kind,
        key: null,
        headers,
        payload,
        ...led,
        untrusted: led.untrusted || untrusted,
        scheduled_for: timeOf(delivery.scheduled_for),
      },
      ...(run && { replayOf: run.id, attempt: run.attempt + 1 }),
    });
  }

  /** The run at its end, or as it stands after `wait` seconds. */
  async atEnd(run: AutomationRunRow, wait: number): Promise<AutomationRunRow> {
    if (wait === 0 || run.state === 'done' || dryRun()) return run;
    const read = async () => {
      const now = await this.runs.find(run.id);
      if (!now) throw new NotFound('No such run of an automation');
      return now;
    };
    return this.polls.wait(automationRunTopic(run.id), wait, read, ({ state }) => state === 'done');
  }
}

/** What a run of an automation starts goes back to all that led to that run. */
export function ledBy({ chain = NO_CHAIN }: Actor): Omit<Chain, 'deployments'> & { chain: string[] } {
  const { deployments, depth, untrusted } = chain;
  return { chain: [...deployments], depth, untrusted };
}

const timeOf = (text: string | null): Date | null => (text === null ? null : new Date(text));

function refusalFor(because: string | null): Error {
  const [reason = '', about] = (because ?? '').split(':');
  if (reason === 'budget')
    return new PaymentRequired(
      'The monthly budget is reached; an admin can raise it, and it starts anew with the month (UTC)',
    );
  if (about)
    return new Conflict(`A run of it waits for the approval ${about}, and its file says policy: skip`);
  return new Conflict(AGAINST[reason] ?? `It was not started: ${reason}`);
}

const AGAINST: Record<string, string> = {
  still_running: 'A run of it has not ended, and its file says policy: skip',
  queue_full: 'A hundred runs of it wait already; let them finish, or cancel some',
  own_change: 'It would be started by itself',
  depth: 'Automations have started one another four times already',
  rate: 'Automations have started it 60 times within a minute',
};
