import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { loopFinished, type Outcome } from '../../../agents/loops/index.js';
import { Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

const MAX_REASON = 500;

const TITLES: Record<Outcome, string> = {
  satisfied: 'is satisfied',
  exhausted: 'has had all its iterations',
  budget: 'has spent its budget',
  stalled: 'makes no progress any more',
  blocked: 'needs a person',
  stopped: 'was stopped',
  error: 'cannot go on',
};

/** Loops that have ended by themselves. Those for whom they act are notified, and not of each of their runs. */
@Injectable()
export class LoopsSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(loopFinished, 'loop.finished', async ({ loop_id }) => {
      const loop = await this.store.loop(loop_id);
      // It was resumed since.
      if (!loop?.outcome) return undefined;
      const { organization_id, workspace_id, chat_id, outcome, iteration, actor } = loop;
      return {
        audience: { people: [actor.id] },
        chain: actor.chain,
        organization_id,
        workspace_id,
        about: `${loop_id}/${iteration}`,
        data: { loop_id, chat_id, outcome },
        title: `The loop “${shortName(loop.title ?? 'without a chat')}” ${TITLES[outcome]}`,
        body: shortName(loop.reason ?? '', MAX_REASON),
      };
    });
  }
}
