import { ById, Field, PageInput, PageOf } from '../../../platform/dto/index.js';
import { WorkspaceId } from '../../../workspaces/core/index.js';
import { TRIGGER_KINDS } from '../file/automation-definition.js';
import {
  DELIVERY_KINDS,
  DELIVERY_STATES,
  DEPLOYMENT_STATES,
  RUN_STATES,
  RUN_STATUSES,
} from '../records/automation-states.js';

const PATH = { min: 1, max: 4096, example: 'automations/city-report.md' };
const REASON = { max: 500, example: 'The supplier moves its service' };

export class AutomationFile extends WorkspaceId {
  @Field.text('The file of the automation in the workspace', PATH) file_path: string;
}

export class ValidateAutomation extends AutomationFile {
  @Field.text('What to check instead of what the file holds', {
    max: 262_144,
    optional: true,
    example: '---\nname: Tidy\n---\nTidy the notes.\n',
  })
  content?: string;
}

export class FindingView {
  @Field.text('The file', { example: 'automations/city-report.md' }) file: string;

  @Field.integer('The line, from 1; null: the file as a whole', { nullable: true, example: 3 })
  line: number | null;

  @Field.choice('An error keeps it from being deployed', ['error', 'warning']) severity: string;
  @Field.text('What is wrong', { example: '"nmae" is not a known key' }) message: string;
  @Field.text('What to do', { nullable: true, example: 'Did you mean "name"?' }) suggestion: string | null;
}

export class ValidationView {
  @Field.boolean('Whether it can be deployed') valid: boolean;
  @Field.object('What is wrong', () => FindingView, { list: true }) findings: FindingView[];

  @Field.json('The automation as it was read; null where that is not possible', {
    nullable: true,
    example: { name: 'Tidy notes' },
  })
  automation: unknown;

  @Field.text('When its schedules fire next, at most five times', {
    list: true,
    example: ['2026-12-01T08:00:00.000Z'],
  })
  next_fires: string[];

  @Field.text('Changes with any file that it goes by', { example: 'b5bb9d80…' }) digest: string;
}

export class DeployAutomation extends AutomationFile {
  @Field.text('Deploy only if this is still its digest, as validate gave it', {
    max: 64,
    optional: true,
    example: 'b5bb9d80',
  })
  expected_digest?: string;

  @Field.id('A service account that it acts for instead of you; its roles may not be above yours', {
    optional: true,
  })
  run_as?: string;
}

export class ListDeployments extends PageInput {
  @Field.id('Only those of this workspace', { optional: true }) workspace_id?: string;

  @Field.choice('Only those that stand so', DEPLOYMENT_STATES, { optional: true })
  state?: (typeof DEPLOYMENT_STATES)[number];
}

export class StopDeployment extends AutomationFile {
  @Field.boolean('End its runs, too, instead of letting them finish', { optional: true, default: false })
  cancel_runs?: boolean;
}

export class PauseDeployment extends ById({ id: 'The deployment' }) {
  @Field.text('Why, for those who look at it later', { ...REASON, optional: true }) reason?: string;
}

export class RollBackDeployment extends ById({ id: 'The deployment' }) {
  @Field.integer('The version that is to be live', { min: 1, max: 1_000_000, example: 1 }) version: number;
}

export class DriftView {
  @Field.text('The file', PATH) path: string;

  @Field.text('A unified diff from the version that is live to the file', {
    example: '@@ -1,1 +1,1 @@\n-Tidy the notes.\n+Tidy all notes.\n',
  })
  diff: string;
}

export class TriggerView {
  @Field.id('The trigger') id: string;
  @Field.choice('What starts it', TRIGGER_KINDS) kind: string;

  @Field.json('As its file has it', { example: { cron: '0 9 * * 1-5', timezone: 'Europe/Berlin' } })
  config: unknown;

  @Field.text('Where webhooks are sent to', { nullable: true, example: null }) url: string | null;
  @Field.text('When it fires next, at most five times', { list: true, example: [] }) next_fires: string[];

  @Field.text('When it last led to a run, the newest first, at most ten times; only where one is read', {
    list: true,
    optional: true,
    example: ['2026-12-01T08:00:00.000Z'],
  })
  last_fires?: string[];
}

export class TriggerSecretView {
  @Field.id('The trigger') trigger_id: string;

  @Field.text('Where webhooks are sent to; null: to the address that it has', {
    nullable: true,
    secret: true,
    example: 'https://atelier.example.com/api/hooks/…',
  })
  url: string | null;

  @Field.text('The secret by which its sender signs; null: the address alone, or the sender makes one', {
    nullable: true,
    secret: true,
    example: null,
  })
  secret: string | null;
}

export class DeploymentView {
  @Field.id('The deployment') id: string;
  @Field.id('The workspace') workspace_id: string;
  @Field.text('The file', PATH) file_path: string;
  @Field.text('What it is called', { example: 'Tidy notes' }) name: string;

  @Field.choice('live; paused: nothing starts it until it is resumed; stopped', DEPLOYMENT_STATES)
  state: string;

  @Field.text('Why it is paused', { nullable: true, example: null }) paused_reason: string | null;
  @Field.integer('The version that is live', { example: 1 }) version: number;

  @Field.choice('Whether its files still are as they were when it was deployed', [
    'none',
    'changed',
    'missing',
    'invalid',
  ])
  drift: string;

  @Field.object('What starts it, besides people', () => TriggerView, { list: true }) triggers: TriggerView[];

  @Field.object('How its files differ from that version; only where one is read', () => DriftView, {
    list: true,
    optional: true,
  })
  changes?: DriftView[];

  @Field.id('Whom it acts for') acts_for: string;
  @Field.id('The service account that it acts for; null: a person', { nullable: true }) run_as: string | null;

  @Field.object('Its last five runs, the newest first; only where one is read', () => AutomationRunView, {
    list: true,
    optional: true,
  })
  last_runs?: AutomationRunView[];

  @Field.integer('Runs that failed since the last one that did not', { example: 0 }) failures_in_row: number;
  @Field.time('When a run last completed', { nullable: true }) last_success_at: string | null;
  @Field.time('When it was first deployed') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
}

export class DeployedView extends DeploymentView {
  @Field.object('Addresses and secrets of new webhooks: shown this once', () => TriggerSecretView, {
    list: true,
  })
  secrets: TriggerSecretView[];

  @Field.object('Warnings about its file', () => FindingView, { list: true }) findings: FindingView[];
}

export const DeploymentPage = PageOf(DeploymentView, 'AutomationDeploymentPage');

export class VersionId extends ById({ id: 'The deployment' }) {
  @Field.integer('Its number', { min: 1, max: 1_000_000, example: 1 }) number: number;
}

export class VersionFileView {
  @Field.text('The file', PATH) path: string;
  @Field.text('Its SHA-256', { example: 'b5bb9d80…' }) sha256: string;
  @Field.integer('Its length', { example: 420 }) bytes: number;

  @Field.text('What it held; only where one version is read', {
    optional: true,
    example: '---\nname: Tidy\n---\n',
  })
  content?: string;
}

export class VersionView {
  @Field.integer('Its number', { example: 1 }) number: number;
  @Field.text('Changes with any of its files', { example: 'b5bb9d80…' }) digest: string;
  @Field.object('What it pins', () => VersionFileView, { list: true }) files: VersionFileView[];
  @Field.id('Who deployed it') deployed_by: string;
  @Field.time('When') created_at: string;
}

export const VersionPage = PageOf(VersionView, 'AutomationVersionPage');

export class SampleDelivery {
  @Field.choice('The kind of trigger whose part it plays', TRIGGER_KINDS)
  kind: (typeof TRIGGER_KINDS)[number];

  @Field.json('What it brings; of a webhook, its body', { optional: true, example: { action: 'opened' } })
  payload?: unknown;

  @Field.json('Headers of a webhook', { optional: true, example: { 'x-github-event': 'issues' } })
  headers?: unknown;
}

export class TriggerAutomation extends AutomationFile {
  @Field.json('What it is given, as its file says; any JSON where that says nothing', {
    optional: true,
    example: { topic: 'meetings' },
  })
  input?: unknown;

  @Field.object('Something as a trigger of it would bring it, instead of an input', () => SampleDelivery, {
    optional: true,
  })
  sample?: SampleDelivery;

  @Field.boolean('Run the file as it is now, deployed or not', { optional: true, default: false })
  draft?: boolean;

  @Field.integer('Seconds to wait for its end', { min: 0, max: 60, optional: true, default: 0, example: 30 })
  wait?: number;
}

export class ReadAutomationRun extends ById({ id: 'The run' }) {
  @Field.integer('Seconds to wait for its end', { min: 0, max: 60, optional: true, default: 0, example: 30 })
  wait?: number;
}

export class WatchAutomationRun extends ById({ id: 'The run' }) {
  @Field.integer('Only events after this number; instead of Last-Event-ID', {
    min: 0,
    max: 2_147_483_647,
    optional: true,
    example: 0,
  })
  after?: number;
}

export class WatchAutomations {
  @Field.id('The workspace') workspace_id: string;

  @Field.integer(
    'Only events after this number; absent: after the Last-Event-ID header, else all that are kept',
    {
      min: 0,
      max: 2_147_483_647,
      optional: true,
      example: 0,
    },
  )
  after?: number;
}

export class AutomationEventView {
  @Field.id('The deployment; null: a draft', { nullable: true }) deployment_id: string | null;
  @Field.text('Path of the automation', { max: 4096, example: 'automations/triage.md' }) file_path: string;
  @Field.id('The run, where it is about one', { optional: true }) run_id?: string;
  @Field.text('Status of the run', { optional: true, example: 'completed' }) status?: string;

  @Field.text('State of the deployment, where it is about that', { optional: true, example: 'live' })
  state?: string;

  @Field.time('When it happened') time: string;
}

export class ReplayRun extends ById({ id: 'The run' }) {
  @Field.choice('The version that it ran then, or the one that is live now', ['same', 'live'], {
    optional: true,
    default: 'same',
  })
  version?: 'same' | 'live';
}

export class ListAutomationRuns extends PageInput {
  @Field.id('Only those of this workspace', { optional: true }) workspace_id?: string;
  @Field.id('Only those of this deployment', { optional: true }) deployment_id?: string;

  @Field.choice('Only those that stand so', RUN_STATUSES, { optional: true })
  status?: (typeof RUN_STATUSES)[number];

  @Field.choice('Only those that were started so', DELIVERY_KINDS, { optional: true })
  kind?: (typeof DELIVERY_KINDS)[number];

  @Field.text('Only those in whose path, error, log or result this text is found, whatever its case', {
    optional: true,
    max: 200,
    example: 'disk is full',
  })
  q?: string;

  @Field.time('Only those from then on', { optional: true }) from?: string;
  @Field.time('Only those before', { optional: true }) to?: string;
}

export class FailedTryView {
  @Field.integer('Which attempt it was', { example: 1 }) attempt: number;
  @Field.text('Why it failed', { example: 'script_failed' }) stop_reason: string;

  @Field.text('What went wrong', { nullable: true, example: 'It ended with exit code 1' })
  error: string | null;

  @Field.integer('How its script ended', { nullable: true, example: 1 }) exit_code: number | null;
  @Field.id('The chat of its agent', { nullable: true }) chat_id: string | null;
  @Field.id('The run of its agent', { nullable: true }) call_id: string | null;
  @Field.time('When it began', { nullable: true }) started_at: string | null;
  @Field.time('When it ended') finished_at: string;
}

export class AutomationRunView {
  @Field.id('The run') run_id: string;
  @Field.id('The workspace') workspace_id: string;
  @Field.id('The deployment; null: a draft', { nullable: true }) deployment_id: string | null;

  @Field.integer('The version that it runs; null: a draft', { nullable: true, example: 1 })
  version: number | null;

  @Field.text('The file', PATH) file_path: string;
  @Field.choice('Whether an agent or a script does the work', ['agent', 'script']) kind: string;
  @Field.choice('What started it', DELIVERY_KINDS) trigger_kind: string;
  @Field.choice('pending until it has ended', RUN_STATUSES) status: string;

  @Field.choice(
    'queued: others of its automation come first, or it waits for its next try; starting; running; waiting: for an approval; done',
    [...RUN_STATES, 'waiting'],
  )
  state: string;

  @Field.id('The approval that it waits for', { nullable: true }) approval_id: string | null;

  @Field.text('Why it ended before it was done', { nullable: true, example: null })
  stop_reason: string | null;

  @Field.text('What went wrong', { nullable: true, example: null }) error: string | null;
  @Field.id('The run of the agent, for /api/agent/status', { nullable: true }) call_id: string | null;
  @Field.id('The chat of the agent', { nullable: true }) chat_id: string | null;

  @Field.json("The agent's answer, or the JSON that a script left in $ATELIER_OUTPUT", {
    nullable: true,
    example: { response: 'Two notes were tidied.' },
  })
  output: unknown;

  @Field.text('The end of what a script printed', { nullable: true, example: null }) log: string | null;
  @Field.integer('How a script ended', { nullable: true, example: null }) exit_code: number | null;

  @Field.number('What its model calls cost, in USD', { nullable: true, example: 0.02 })
  cost_usd: number | null;

  @Field.id('What came in for it') delivery_id: string;
  @Field.integer('How often what came in has been tried', { example: 1 }) attempt: number;

  @Field.object(
    'Tries that failed and were followed by another one, as `retries` of its file say',
    () => FailedTryView,
    {
      list: true,
    },
  )
  tries: FailedTryView[];

  @Field.time('When it is tried again at the earliest; null: it does not wait for that', { nullable: true })
  next_try_at: string | null;

  @Field.id('The run that it repeats', { nullable: true }) replay_of: string | null;
  @Field.time('The time for which it was due', { nullable: true }) scheduled_for: string | null;
  @Field.time('When it was accepted') queued_at: string;
  @Field.time('When it began', { nullable: true }) started_at: string | null;
  @Field.time('When it ended', { nullable: true }) finished_at: string | null;
}

export const AutomationRunPage = PageOf(AutomationRunView, 'AutomationRunPage');

export class ListDeliveries extends PageInput {
  @Field.id('Only those in this workspace', { optional: true }) workspace_id?: string;
  @Field.id('Only those for this deployment', { optional: true }) deployment_id?: string;

  @Field.choice('Only those of which that became', DELIVERY_STATES, { optional: true })
  state?: (typeof DELIVERY_STATES)[number];
}

export class ReplayDelivery extends ById({ id: 'The delivery' }) {
  @Field.choice('The version that is live now, or the one that was when it came', ['live', 'same'], {
    optional: true,
    default: 'live',
  })
  version?: 'live' | 'same';
}

export class DeliveryView {
  @Field.id('The delivery') id: string;
  @Field.id('The workspace') workspace_id: string;
  @Field.id('The deployment; null: a draft', { nullable: true }) deployment_id: string | null;
  @Field.id('The trigger; null: by hand', { nullable: true }) trigger_id: string | null;
  @Field.choice('What it is', DELIVERY_KINDS) kind: string;

  @Field.choice('accepted: it led to a run; held: it will, when the day turns', DELIVERY_STATES)
  state: string;

  @Field.text('Why it led to no run', { nullable: true, example: null }) reason: string | null;
  @Field.text('By which it is known again', { nullable: true, example: null }) key: string | null;
  @Field.integer('Length of what came with it', { example: 120 }) payload_bytes: number;

  @Field.json('What came with it; only where one delivery is read, and up to 4 MiB', {
    optional: true,
    example: { action: 'opened' },
  })
  payload?: unknown;

  @Field.json('Headers, without those that prove who sent it', { example: {} }) headers: unknown;
  @Field.time('The time for which it was due', { nullable: true }) scheduled_for: string | null;
  @Field.time('When it came') received_at: string;
  @Field.id('The run that it led to', { nullable: true }) run_id: string | null;
}

export const DeliveryPage = PageOf(DeliveryView, 'AutomationDeliveryPage');
