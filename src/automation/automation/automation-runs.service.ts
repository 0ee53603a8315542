import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { ResponseSchemas } from '../../agents/models/index.js';
import { type Actor, type Chain, NO_CHAIN, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, dryRun, iso, isoOrNull } from '../../platform/database/index.js';
import { DEFAULT_LIMIT, decodeCursor, type Page, pageOf } from '../../platform/dto/index.js';
import { Conflict, Invalid, NotFound } from '../../platform/errors/index.js';
import { Subscription, Topics } from '../../platform/topics/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { automationPathOf, firstFault } from './automations.service.js';
import { Closures } from './deploying/index.js';
import {
  type AutomationRunRow,
  AutomationRunsStore,
  automationRunTopic,
  DeliveriesStore,
  DeploymentsStore,
} from './records/index.js';
import { type Incoming, Intake, isGuarded, RunEnds } from './running/index.js';
import {
  AutomationRunId,
  AutomationRunPage,
  AutomationRunView,
  ListAutomationRuns,
  ReadAutomationRun,
  ReplayRun,
  TriggerAutomation,
} from './views/index.js';

const MAX_INPUT_BYTES = 1024 * 1024;

/** Runs of automations: started by hand, looked at, ended, repeated. */
@Injectable()
export class AutomationRunsService implements BeforeApplicationShutdown {
  private readonly closing = new AbortController();

  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly deployments: DeploymentsStore,
    private readonly runs: AutomationRunsStore,
    private readonly deliveries: DeliveriesStore,
    private readonly closures: Closures,
    private readonly intake: Intake,
    private readonly ends: RunEnds,
    private readonly schemas: ResponseSchemas,
    private readonly topics: Topics,
    private readonly audit: Audit,
  ) {}

  /** Callers that wait get the run as it is now. */
  beforeApplicationShutdown(): void {
    this.closing.abort();
  }

  @Action({
    name: 'automation_trigger',
    route: 'POST /api/automation/trigger',
    on: 'workspace_id',
    summary: 'Start an automation by hand, on the authority of the caller',
    description:
      'With draft, the file as it is now is run, deployed or not. wait=30 waits for its end that long.',
    effect: 'write',
    permission: 'automation.run',
    input: TriggerAutomation,
    output: AutomationRunView,
    commitsAnswer: true,
    refuses: {
      404: 'No such workspace or file, or it is not deployed and draft is not set',
      409: 'It is stopped, or its runs at once are as many as may be',
    },
  })
  async trigger(actor: Actor, input: TriggerAutomation): Promise<AutomationRunView> {
    const { workspace_id, draft = false, wait } = input;
    const workspace = await this.workspaces.require(actor, 'automation.run', workspace_id);
    const path = automationPathOf(input.file_path);
    const place = { organization_id: workspace.organization_id, workspace_id: workspace.id, file_path: path };
    const payload = input.input === undefined ? undefined : JSON.stringify(input.input);
    if (payload !== undefined && Buffer.byteLength(payload) > MAX_INPUT_BYTES)
      throw new Invalid(
        `input may have ${MAX_INPUT_BYTES} bytes as JSON; put more into a file of the workspace`,
      );
    const delivery = {
      ...({
        trigger_id: null,
        kind: 'manual',
        key: null,
        headers: {},
        scheduled_for: null,
        payload,
      } as const),
      ...ledBy(actor),
    };
    const rest = { delivery, place, actor };
    if (draft) {
      const { pinned, findings } = await this.closures.read(workspace, path);
      if (!pinned) throw new Invalid(firstFault(findings));
      await this.checkInput(pinned.definition.input, payload);
      return this.started({ ...rest, deployment: null, definition: pinned.definition, draft: pinned }, wait);
    }
    const deployment = await this.deployments.findAt(workspace.id, path);
    if (!deployment) throw new NotFound(`${path} is not deployed; deploy it, or run it with draft: true`);
    if (deployment.state === 'stopped')
      throw new Conflict('It is stopped; deploy it again, or run it with draft: true');
    const version = await this.deployments.version(deployment.id, deployment.version);
    if (!version) throw new NotFound('Its version is not there any more');
    await this.checkInput(version.definition.input, payload);
    return this.started({ ...rest, deployment, definition: version.definition, draft: null }, wait);
  }

  @Action({
    name: 'automation_run_list',
    route: 'GET /api/automation/runs',
    on: { workspace_id: 'workspace', deployment_id: 'deployment' },
    summary: 'List runs of automations in the workspaces that the caller sees, newest first',
    effect: 'read',
    permission: 'automation.read',
    input: ListAutomationRuns,
    output: AutomationRunPage,
    refuses: { 404: 'No such workspace or deployment' },
  })
  async list(actor: Actor, input: ListAutomationRuns): Promise<Page<AutomationRunView>> {
    const { workspace_id: workspaceId, deployment_id: deploymentId, limit = DEFAULT_LIMIT, cursor } = input;
    const { status, kind, from, to } = input;
    requireScope(actor, 'automation.read');
    if (workspaceId) await this.workspaces.require(actor, 'automation.read', workspaceId);
    if (deploymentId) await this.deployments.require(actor, 'automation.read', deploymentId);
    const [before] = decodeCursor(cursor, 'id');
    const filter = { workspaceId, deploymentId, status, kind, from, to, before, limit: limit + 1 };
    return pageOf(await this.runs.list(actor, filter), limit, runView, row => [row.id]);
  }

  @Action({
    name: 'automation_run_get',
    route: 'GET /api/automation/runs/:id',
    on: { id: 'automation_run' },
    summary: 'Read how a run of an automation went, waiting for its end if asked to',
    effect: 'read',
    permission: 'automation.read',
    input: ReadAutomationRun,
    output: AutomationRunView,
  })
  async read(actor: Actor, { id, wait = 0 }: ReadAutomationRun): Promise<AutomationRunView> {
    const run = await this.runs.require(actor, 'automation.read', id);
    return runView(await this.atEnd(run, wait));
  }

  @Action({
    name: 'automation_run_cancel',
    route: 'POST /api/automation/runs/:id/cancel',
    on: { id: 'automation_run' },
    summary: 'End a run of an automation; what it did is kept',
    effect: 'destructive',
    consequence: 'Its agent or script ends where it is.',
    permission: 'automation.manage',
    input: AutomationRunId,
    output: AutomationRunView,
    commitsAnswer: true,
  })
  async cancel(actor: Actor, { id }: AutomationRunId): Promise<AutomationRunView> {
    const { organization_id, workspace_id } = await this.runs.require(actor, 'automation.manage', id);
    return this.database.transaction(async unit => {
      await this.ends.cancel(unit, id);
      const target = { type: 'automation_run', id, organization_id, workspace_id };
      await this.audit.record(unit, actor, 'automation.run_cancel', target, {});
      const run = await this.runs.find(id, unit);
      if (!run) throw new NotFound('No such run of an automation');
      return unit.answers(runView(run));
    });
  }

  @Action({
    name: 'automation_run_replay',
    route: 'POST /api/automation/runs/:id/replay',
    on: { id: 'automation_run' },
    summary: 'Start an automation again with what came in before, on the authority of the caller',
    effect: 'write',
    permission: 'automation.run',
    input: ReplayRun,
    output: AutomationRunView,
    commitsAnswer: true,
    refuses: { 404: 'No such run', 409: 'What came in is not kept any more' },
  })
  async replay(actor: Actor, { id, version: which = 'same' }: ReplayRun): Promise<AutomationRunView> {
    const run = await this.runs.require(actor, 'automation.run', id);
    const delivery = await this.deliveries.find(run.delivery_id);
    if (!delivery || (delivery.payload_bytes > 0 && !delivery.sealed_payload))
      throw new Conflict('What came in is not kept any more; trigger it with an input');
    const deployment = (run.deployment_id && (await this.deployments.find(run.deployment_id))) || null;
    const number = which === 'live' ? deployment?.version : run.version;
    const version = deployment && number ? await this.deployments.version(deployment.id, number) : undefined;
    const definition = version?.definition ?? run.draft?.definition;
    if (!definition) throw new Conflict('Its version is not kept any more');
    const { organization_id, workspace_id, file_path } = run;
    const { kind, headers, trigger_id } = delivery;
    const payload = this.deliveries.payloadOf(delivery);
    const led = ledBy(actor);
    const untrusted = led.untrusted || delivery.untrusted;
    return this.started({
      ...{ deployment, definition, actor, draft: version ? null : run.draft, version: version?.number },
      place: { organization_id, workspace_id, file_path },
      delivery: {
        ...{ trigger_id, kind, key: null, headers, payload, ...led, untrusted },
        scheduled_for: delivery.scheduled_for ? new Date(delivery.scheduled_for) : null,
      },
      ...{ replayOf: run.id, attempt: run.attempt + 1 },
    });
  }

  private async started(incoming: Incoming, wait = 0): Promise<AutomationRunView> {
    const view = await this.database.transaction(async unit => {
      const { deployment } = incoming;
      if (deployment) await this.deployments.lock(unit, deployment.id);
      const { runId, reason } = await this.intake.accept(unit, incoming);
      const run = runId && (await this.runs.find(runId, unit));
      if (run) return unit.answers(runView(run));
      const refusal = new Conflict(AGAINST[reason ?? ''] ?? `It was not started: ${reason}`);
      // What automations do to each other stays to be seen among the deliveries.
      if (isGuarded(reason)) return refusal;
      throw refusal;
    });
    if (view instanceof Conflict) throw view;
    if (wait === 0 || dryRun()) return view;
    const run = await this.runs.find(view.run_id);
    return run ? runView(await this.atEnd(run, wait)) : view;
  }

  /** Throws Invalid where the input is not as the file says. */
  private async checkInput(schema: unknown, payload: string | undefined): Promise<void> {
    if (typeof schema !== 'object' || schema === null) return;
    if (payload === undefined)
      throw new Invalid('input is missing; the file of the automation says what it is to be');
    const reading = await this.schemas.checkOf(schema as Record<string, unknown>).read(payload);
    if ('faults' in reading && reading.faults) throw new Invalid(`input: ${reading.faults.join('; ')}`);
  }

  /** The run at its end, or as it stands after `wait` seconds. */
  private async atEnd(run: AutomationRunRow, wait: number): Promise<AutomationRunRow> {
    if (wait === 0 || run.state === 'done' || dryRun()) return run;
    const limit = AbortSignal.any([AbortSignal.timeout(wait * 1000), this.closing.signal]);
    const wakeUp = new Subscription(this.topics, automationRunTopic(run.id));
    try {
      for (let now: AutomationRunRow | undefined = run; ; ) {
        now = await this.runs.find(run.id);
        if (!now) throw new NotFound('No such run of an automation');
        if (now.state === 'done' || limit.aborted) return now;
        await wakeUp.wait(limit);
      }
    } finally {
      wakeUp.close();
    }
  }
}

/** What a run of an automation starts goes back to all that led to that run. */
function ledBy({ chain = NO_CHAIN }: Actor): Omit<Chain, 'deployments'> & { chain: string[] } {
  const { deployments, depth, untrusted } = chain;
  return { chain: [...deployments], depth, untrusted };
}

const AGAINST: Record<string, string> = {
  still_running: 'A run of it has not ended, and its file says policy: skip',
  queue_full: 'A hundred runs of it wait already; let them finish, or cancel some',
  own_change: 'It would be started by itself',
  depth: 'Automations have started one another four times already',
  rate: 'Automations have started it 60 times within a minute',
};

export function runView(run: AutomationRunRow): AutomationRunView {
  const { id, workspace_id, deployment_id, version, file_path, kind, trigger_kind, status, state } = run;
  const { stop_reason, error, call_id, chat_id, output, log, exit_code, cost_usd } = run;
  return {
    ...{ run_id: id, workspace_id, deployment_id, version, file_path, kind, trigger_kind, status, state },
    ...{ stop_reason, error, call_id, chat_id, output, log, exit_code, cost_usd },
    ...{ delivery_id: run.delivery_id, attempt: run.attempt, replay_of: run.replay_of },
    queued_at: iso(run.queued_at),
    started_at: isoOrNull(run.started_at),
    finished_at: isoOrNull(run.finished_at),
  };
}
