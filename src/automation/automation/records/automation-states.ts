import type { PinnedAgent } from '../../../agents/subagents/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { defineEvent } from '../../../platform/events/index.js';
import { defineTopic } from '../../../platform/topics/index.js';
import type { AutomationDefinition, TriggerDefinition } from '../file/automation-definition.js';

export const DEPLOYMENT_STATES = ['live', 'paused', 'stopped'] as const;
export type DeploymentState = (typeof DEPLOYMENT_STATES)[number];

/** How the files of a deployment stand to the version that is live. */
export type Drift = 'none' | 'changed' | 'missing' | 'invalid';

export const RUN_STATES = ['queued', 'starting', 'running', 'done'] as const;
export const RUN_STATUSES = ['pending', 'completed', 'error'] as const;
export const DELIVERY_KINDS = ['manual', 'schedule', 'webhook', 'file', 'notification'] as const;
export const DELIVERY_STATES = ['accepted', 'filtered', 'duplicate', 'skipped', 'held'] as const;

/** A file that a version pins. */
export interface PinnedFile {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** What a run goes by: the files as they were when it was deployed, or, of a draft, when it was started. */
export interface Pinned {
  readonly definition: AutomationDefinition;
  /** null for scripts. */
  readonly agent: PinnedAgent | null;
  /** The program of a script. */
  readonly code: string | null;
}

/** A try of a run that failed and was followed by another one. */
export interface FailedTry {
  readonly attempt: number;
  readonly stop_reason: string;
  readonly error: string | null;
  readonly exit_code: number | null;
  readonly chat_id: string | null;
  readonly call_id: string | null;
  readonly started_at: string | null;
  readonly finished_at: string;
}

declare global {
  interface ColumnTypes {
    'automation_event.data': object;
    'automation_deployment.actor': Actor;
    'automation_version.files': PinnedFile[];
    'automation_version.definition': AutomationDefinition;
    'automation_version.agent': PinnedAgent | null;
    'automation_trigger.config': TriggerDefinition;
    'automation_trigger.secrets': unknown[];
    'automation_trigger.gathered': unknown;
    'automation_delivery.headers': Record<string, string>;
    'automation_run.actor': Actor;
    'automation_run.draft': Pinned | null;
    'automation_run.output': unknown;
    'automation_run.tries': FailedTry[];
  }
}

/** A run of an automation has changed. */
export const automationRunTopic = defineTopic('automation-run');
/** Runs wait to be started. */
export const AUTOMATION_RUNS_QUEUED = defineTopic('automation-queued')();
/** The triggers of some deployment have changed. */
export const AUTOMATION_TRIGGERS = defineTopic('automation-triggers')();

/** A run of a deployment has ended in error. */
export const automationFailed = defineEvent<{ run_id: string }>('automation.failed');
/** A run of a deployment has completed. */
export const automationCompleted = defineEvent<{ run_id: string }>('automation.completed');
/** Nothing of a deployment has succeeded for as long as its file says. */
export const automationSilent = defineEvent<{ deployment_id: string }>('automation.silent');
/** The files of a deployment are not as they were when it was deployed. */
export const automationDrifted = defineEvent<{ deployment_id: string }>('automation.drifted');
/** Something that came in for a deployment led to no run, for a reason that lasts. */
export const automationSkipped = defineEvent<{ deployment_id: string; reason: string }>('automation.skipped');
/** A deployment does nothing until it is resumed. */
export const automationPaused = defineEvent<{ deployment_id: string }>('automation.paused');
