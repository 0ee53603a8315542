import { Injectable, OnModuleInit } from '@nestjs/common';
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
import { type Notice, Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

const MAX_REASON = 500;

type Deployment = NonNullable<Awaited<ReturnType<SourcesStore['deployment']>>>;

/** Deployed automations. Whoever deployed one is notified, and whom it acts for; of runs by hand, who started them, too. */
@Injectable()
export class AutomationsSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(automationFailed, 'automation.failed', ({ run_id }) => this.ofRun(run_id, 'failed'));
    this.notifier.on(automationCompleted, 'automation.completed', ({ run_id }) =>
      this.ofRun(run_id, 'completed'),
    );
    this.notifier.on(automationPaused, 'automation.paused', async ({ deployment_id }) => {
      const deployment = await this.store.deployment(deployment_id);
      if (deployment?.state !== 'paused' || !deployment.definition.notify.includes('paused'))
        return undefined;
      const reason = shortName(deployment.paused_reason ?? 'No reason was given', MAX_REASON);
      return {
        ...about(deployment, `${deployment.version}:${today()}:${reason}`),
        title: `The automation ${nameOf(deployment)} is paused`,
        body: `${reason}. Nothing starts it until it is resumed or deployed again.`,
      };
    });
    this.notifier.on(automationSilent, 'automation.silent', async ({ deployment_id }) => {
      const deployment = await this.store.deployment(deployment_id);
      if (!deployment) return undefined;
      const since = deployment.last_success_at;
      return {
        ...about(deployment, `${deployment.version}:${since ?? 'never'}`),
        title: `Nothing of the automation ${nameOf(deployment)} has succeeded for too long`,
        body: since
          ? `Its last run that completed ended at ${new Date(since).toISOString()}.`
          : 'None of its runs has completed yet.',
      };
    });
    this.notifier.on(automationDrifted, 'automation.drift', async ({ deployment_id }) => {
      const deployment = await this.store.deployment(deployment_id);
      if (!deployment || deployment.drift === 'none') return undefined;
      return {
        ...about(deployment, String(deployment.version)),
        title: `Files of the automation ${nameOf(deployment)} have changed`,
        body: `${DRIFTS[deployment.drift]} What runs is version ${deployment.version}, as it was deployed.`,
      };
    });
    this.notifier.on(automationSkipped, 'automation.skipped', async ({ deployment_id, reason }) => {
      const deployment = await this.store.deployment(deployment_id);
      return (
        deployment && {
          ...about(deployment, `${reason}:${today()}`),
          title: `The automation ${nameOf(deployment)} was not started`,
          body: `${REASONS[reason] ?? reason}. What came in is in its deliveries, with the reason.`,
        }
      );
    });
  }

  private async ofRun(id: string, how: 'failed' | 'completed'): Promise<Notice | undefined> {
    const run = await this.store.automationRun(id);
    const deployment = run?.deployment_id ? await this.store.deployment(run.deployment_id) : undefined;
    if (!run || !deployment?.definition.notify.includes(how)) return undefined;
    const notice = about(deployment, id);
    const reason = [run.stop_reason, run.error].filter(Boolean).join(': ');
    return {
      ...notice,
      audience: run.trigger_kind === 'manual' ? { people: [run.actor.id] } : notice.audience,
      data: { ...notice.data, automation_run_id: id },
      chain: { ...(run.actor.chain ?? NO_CHAIN), untrusted: true },
      title: `A run of the automation ${nameOf(deployment)} ${how}`,
      body: how === 'failed' ? shortName(reason, MAX_REASON) : 'Its result is in the run.',
    };
  }
}

const DRIFTS = {
  changed: 'They are not as they were when it was deployed; deploy it again to have the changes run.',
  missing: 'Its file is not there any more; stop it, or bring the file back.',
  invalid: 'Its file cannot be read as an automation any more.',
};

const REASONS: Record<string, string> = {
  budget: 'The monthly budget is reached',
  loop: 'Automations start each other again and again',
  queue_full: 'A hundred runs of it wait already',
  runs_per_day: 'It has run as often as its file allows in a day',
  daily_usd: 'It has spent what its file allows in a day',
  waiting_for_approval: 'A run of it waits for an approval',
};

/** What is told of an automation starts neither it nor what led to it, and counts as data from elsewhere. */
const ledBy = (deployments: readonly string[]): Chain => ({
  deployments,
  depth: deployments.length,
  untrusted: true,
});

const nameOf = ({ definition }: Deployment): string => `“${shortName(definition.name)}”`;

const today = (): string => new Date().toISOString().slice(0, 10);

const about = (deployment: Deployment, what: string): Omit<Notice, 'title' | 'body'> => ({
  audience: { people: [...new Set([deployment.actor.id, deployment.deployed_by])], orElse: ['admin'] },
  organization_id: deployment.organization_id,
  workspace_id: deployment.workspace_id,
  about: `${deployment.id}:${what}`,
  data: { deployment_id: deployment.id, file_path: deployment.file_path },
  chain: ledBy([deployment.id]),
});
