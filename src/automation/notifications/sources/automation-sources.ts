import { shortName } from '#libs/plain-text/index.js';
import { type Chain, NO_CHAIN } from '../../../platform/access/index.js';
import {
  automationCompleted,
  automationDrifted,
  automationFailed,
  automationPaused,
  automationSilent,
  automationSkipped,
} from '../../automation/index.js';
import type { Audience } from '../types/notice.js';
import { source } from './notification-source.js';
import type { DeployedRun, Deployment, SourcesStore } from './sources.store.js';

const MAX_REASON = 500;

const nameOf = ({ definition }: Deployment): string => `automation “${shortName(definition.name)}”`;

const today = (): string => new Date().toISOString().slice(0, 10);

/** Whoever deployed the automation is notified, and whom it acts for. */
const recipients = ({ actor, deployed_by }: Deployment): Audience => ({
  people: [...new Set([actor.id, deployed_by])],
  orElse: ['admin'],
});

const DEPLOYMENT = {
  load: ({ deployment_id }: { deployment_id: string }, records: SourcesStore) =>
    records.deployment(deployment_id),
  recipients,
  data: ({ id, file_path }: Deployment) => ({ deployment_id: id, file_path }),
  /** A notification about an automation never starts that automation, and counts as data from outside. */
  chain: ({ id }: Deployment): Chain => ({ deployments: [id], depth: 1, untrusted: true }),
};

/** Of a run that was started by hand, whoever started it is notified. */
const RUN = {
  load: ({ run_id }: { run_id: string }, records: SourcesStore) => records.deployedRun(run_id),
  recipients: (row: DeployedRun): Audience =>
    row.run.trigger_kind === 'manual' ? { people: [row.run.actor.id] } : recipients(row),
  about: ({ id, run }: DeployedRun) => `${id}:${run.id}`,
  data: (row: DeployedRun) => ({ ...DEPLOYMENT.data(row), automation_run_id: row.run.id }),
  chain: ({ run }: DeployedRun): Chain => ({ ...(run.actor.chain ?? NO_CHAIN), untrusted: true }),
};

const DRIFTS = {
  none: '',
  changed: 'They are not as they were when it was deployed; deploy it again to have the changes run.',
  missing: 'Its file is not there any more; stop it, or bring the file back.',
  invalid: 'Its file cannot be read as an automation any more.',
};

const SKIPPED: Record<string, string> = {
  budget: 'The monthly budget is reached',
  loop: 'Automations start each other again and again',
  queue_full: 'A hundred runs of it wait already',
  runs_per_day: 'It has run as often as its file allows in a day',
  daily_usd: 'It has spent what its file allows in a day',
  waiting_for_approval: 'A run of it waits for an approval',
};

const pauseReason = ({ paused_reason }: Deployment): string =>
  shortName(paused_reason ?? 'No reason was given', MAX_REASON);

/** Deployed automations and their runs. */
export const AUTOMATION_SOURCES = {
  'automation.failed': source({
    ...RUN,
    on: automationFailed,
    stillTrue: ({ definition }) => definition.notify.includes('failed'),
    title: row => `A run of the ${nameOf(row)} failed`,
    body: ({ run }) => shortName([run.stop_reason, run.error].filter(Boolean).join(': '), MAX_REASON),
  }),
  'automation.completed': source({
    ...RUN,
    on: automationCompleted,
    stillTrue: ({ definition }) => definition.notify.includes('completed'),
    title: row => `A run of the ${nameOf(row)} completed`,
    body: () => 'Its result is in the run.',
  }),
  'automation.paused': source({
    ...DEPLOYMENT,
    on: automationPaused,
    stillTrue: ({ state, definition }) => state === 'paused' && definition.notify.includes('paused'),
    about: row => `${row.id}:${row.version}:${today()}:${pauseReason(row)}`,
    title: row => `The ${nameOf(row)} is paused`,
    body: row => `${pauseReason(row)}. Nothing starts it until it is resumed or deployed again.`,
  }),
  'automation.silent': source({
    ...DEPLOYMENT,
    on: automationSilent,
    about: ({ id, version, last_success_at }) => `${id}:${version}:${last_success_at ?? 'never'}`,
    title: row => `Nothing of the ${nameOf(row)} has succeeded for too long`,
    body: ({ last_success_at }) =>
      last_success_at
        ? `Its last run that completed ended at ${new Date(last_success_at).toISOString()}.`
        : 'None of its runs has completed yet.',
  }),
  'automation.drift': source({
    ...DEPLOYMENT,
    on: automationDrifted,
    stillTrue: ({ drift }) => drift !== 'none',
    about: ({ id, version }) => `${id}:${version}`,
    title: row => `Files of the ${nameOf(row)} have changed`,
    body: ({ drift, version }) => `${DRIFTS[drift]} What runs is version ${version}, as it was deployed.`,
  }),
  'automation.skipped': source({
    ...DEPLOYMENT,
    on: automationSkipped,
    about: ({ id }, { reason }) => `${id}:${reason}:${today()}`,
    title: row => `The ${nameOf(row)} was not started`,
    body: (_row, { reason }) =>
      `${SKIPPED[reason] ?? reason}. What came in is in its deliveries, with the reason.`,
  }),
};
