import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { ById, type Page } from '../../platform/dto/index.js';
import { Forbidden, Invalid, NotFound } from '../../platform/errors/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { AskedRuns, ledBy } from './asking/asked-runs.js';
import { RunTargetReader } from './asking/run-target-reader.js';
import { RunViews } from './asking/run-views.js';
import { automationPathOf } from './automations.service.js';
import { AutomationRunsStore } from './records/automation-runs.store.js';
import type { NewDelivery } from './records/deliveries.store.js';
import { DeploymentsStore } from './records/deployments.store.js';
import { RunEnds } from './running/run-ends.js';
import {
  AutomationRunPage,
  AutomationRunView,
  ListAutomationRuns,
  ReadAutomationRun,
  ReplayRun,
  TriggerAutomation,
} from './views/automations.dto.js';

const MAX_INPUT_BYTES = 1024 * 1024;

/** Runs of automations: started by hand, looked at, ended, repeated. */
@Injectable()
export class AutomationRunsService {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly deployments: DeploymentsStore,
    private readonly runs: AutomationRunsStore,
    private readonly targets: RunTargetReader,
    private readonly asked: AskedRuns,
    private readonly views: RunViews,
    private readonly ends: RunEnds,
    private readonly audit: Audit,
  ) {}

  @Action('automation_trigger', 'POST /api/automation/trigger', {
    summary: 'Start an automation by hand, on the authority of the caller',
    description:
      'With draft, the file as it is now is run, deployed or not. wait=30 waits for its end that long.',
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
    const brought = broughtBy(input);
    const led = ledBy(actor);
    const delivery = { ...brought, ...led, untrusted: led.untrusted || brought.untrusted };
    if (draft) requireOwner(actor);
    const target = draft
      ? await this.targets.readDraft(actor, workspace, path)
      : await this.targets.readLive(workspace, path);
    if (brought.kind === 'manual') await this.targets.validateInput(target.definition, brought.payload);
    return this.asked.start({ ...target, delivery, place, actor }, wait);
  }

  @Action('automation_run_list', 'GET /api/automation/runs', {
    on: { workspace_id: 'workspace', deployment_id: 'deployment' },
    summary: 'List runs of automations in the workspaces that the caller sees, newest first',
    permission: 'automation.read',
    input: ListAutomationRuns,
    output: AutomationRunPage,
    refuses: { 404: 'No such workspace or deployment' },
  })
  async list(actor: Actor, input: ListAutomationRuns): Promise<Page<AutomationRunView>> {
    const { workspace_id, deployment_id } = input;
    requireScope(actor, 'automation.read');
    if (workspace_id) await this.workspaces.require(actor, 'automation.read', workspace_id);
    if (deployment_id) await this.deployments.require(actor, 'automation.read', deployment_id);
    const page = await this.runs.list(actor, input);
    return { ...page, items: await this.views.all(page.items) };
  }

  @Action('automation_run_get', 'GET /api/automation/runs/:id', {
    on: { id: 'automation_run' },
    summary: 'Read how a run of an automation went, waiting for its end if asked to',
    permission: 'automation.read',
    input: ReadAutomationRun,
    output: AutomationRunView,
  })
  async read(actor: Actor, { id, wait = 0 }: ReadAutomationRun): Promise<AutomationRunView> {
    const run = await this.runs.require(actor, 'automation.read', id);
    return this.views.one(await this.asked.atEnd(run, wait));
  }

  @Action('automation_run_cancel', 'POST /api/automation/runs/:id/cancel', {
    on: { id: 'automation_run' },
    summary: 'End a run of an automation; what it did is kept',
    consequence: 'Its agent or script ends where it is.',
    permission: 'automation.manage',
    input: ById({ id: 'The run' }),
    output: AutomationRunView,
    commitsAnswer: true,
  })
  async cancel(actor: Actor, { id }: ById): Promise<AutomationRunView> {
    const { organization_id, workspace_id } = await this.runs.require(actor, 'automation.manage', id);
    return this.database.transaction(async unit => {
      await this.ends.cancel(unit, id);
      const target = { type: 'automation_run', id, organization_id, workspace_id };
      await this.audit.record(unit, actor, 'automation.run_cancel', target, {});
      const run = await this.runs.find(id, unit);
      if (!run) throw new NotFound('No such run of an automation');
      return unit.answers(await this.views.one(run, unit));
    });
  }

  @Action('automation_run_replay', 'POST /api/automation/runs/:id/replay', {
    on: { id: 'automation_run' },
    summary: 'Start an automation again with what came in before, on the authority of the caller',
    permission: 'automation.run',
    input: ReplayRun,
    output: AutomationRunView,
    commitsAnswer: true,
    refuses: { 404: 'No such run', 409: 'What came in is not kept any more' },
  })
  async replay(actor: Actor, { id, version: which = 'same' }: ReplayRun): Promise<AutomationRunView> {
    const run = await this.runs.require(actor, 'automation.run', id);
    if (run.draft) requireOwner(actor);
    return this.asked.replay(actor, run, which);
  }
}

type Brought = Omit<
  NewDelivery,
  'workspace_id' | 'deployment_id' | 'version' | 'chain' | 'depth' | 'payload'
> & { readonly payload: string | undefined };

/** What a caller gives a run: an input, or what a trigger would bring. */
function broughtBy({ input, sample }: TriggerAutomation): Brought {
  if (input !== undefined && sample)
    throw new Invalid('sample stands instead of input; leave one of them out');
  const none = { trigger_id: null, key: null, headers: {}, scheduled_for: null, untrusted: false };
  if (!sample) return { ...none, kind: 'manual', payload: jsonOf(input, 'input') };
  const { kind, payload, headers = {} } = sample;
  if (kind === 'schedule') return { ...none, kind, scheduled_for: new Date(), payload: undefined };
  if (kind !== 'webhook') return { ...none, kind, payload: jsonOf(payload, 'sample.payload') };
  const sent = { headers: lowerCased(headers), query: {}, body: payload ?? null };
  return { ...none, kind, headers: sent.headers, untrusted: true, payload: jsonOf(sent, 'sample') };
}

function jsonOf(value: unknown, field: string): string | undefined {
  if (value === undefined) return undefined;
  const json = JSON.stringify(value);
  if (Buffer.byteLength(json) > MAX_INPUT_BYTES)
    throw new Invalid(
      `${field} may have ${MAX_INPUT_BYTES} bytes as JSON; put more into a file of the workspace`,
    );
  return json;
}

function lowerCased(headers: unknown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    throw new Invalid('sample.headers must be an object of names and texts');
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (typeof value !== 'string') throw new Invalid(`sample.headers.${name} must be a text`);
      return [name.toLowerCase(), value];
    }),
  );
}

/** A draft does what its file says, which nobody was asked about. */
function requireOwner({ credential }: Actor): void {
  if (credential.type === 'exec' || credential.type === 'oauth' || credential.run)
    throw new Forbidden(
      'A draft is run by a person, or with their own key; deploy it to have a program start it',
    );
}
