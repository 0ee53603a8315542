import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { runFailed, runFinished } from '../../../agents/runs/index.js';
import { type Notice, Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

const MAX_REASON = 500;

/** Runs that ended while no client watched. The person who started one is notified; of a task, the run above it is; of a loop, its end. */
@Injectable()
export class RunsSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(runFailed, 'run.failed', ({ run_id }) => this.about(run_id, 'failed'));
    this.notifier.on(runFinished, 'run.finished', ({ run_id }) => this.about(run_id, 'finished'));
  }

  private async about(runId: string, how: 'failed' | 'finished'): Promise<Notice | undefined> {
    const run = await this.store.run(runId);
    // Of automations and loops people are told as such.
    if (!run || run.parent_id || run.loop_id || run.deployment_id) return undefined;
    const { organization_id, workspace_id, chat_id } = run;
    const reason = run.error ? shortName(run.error.message, MAX_REASON) : 'Its answer is in the chat.';
    return {
      audience: { people: [run.created_by] },
      organization_id,
      workspace_id,
      about: runId,
      title: `A run ${how} in “${shortName(run.title)}”`,
      body: how === 'failed' ? reason : 'Its answer is in the chat.',
      data: { call_id: runId, chat_id },
      chain: run.actor.chain,
    };
  }
}
