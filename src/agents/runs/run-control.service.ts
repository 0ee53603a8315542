import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import type { Row } from '../../platform/database/index.js';
import { Forbidden, Invalid, NotFound, unseenAs } from '../../platform/errors/index.js';
import { ChatsStore } from '../chats/index.js';
import type { Run } from './run.entity.js';
import { RunStopper } from './run-stopper.js';
import { StoppedView, StopRuns } from './runs.dto.js';
import { RunsStore } from './runs.store.js';

/** Stopping runs. */
@Injectable()
export class RunControlService {
  constructor(
    private readonly chats: ChatsStore,
    private readonly runs: RunsStore,
    private readonly stopper: RunStopper,
  ) {}

  @Action({
    name: 'run_stop',
    summary: 'Stop a run, or the run in flight of a chat; what it had produced is kept',
    effect: 'write',
    permission: 'agent.stop',
    input: StopRuns,
    output: StoppedView,
    commitsAnswer: true,
  })
  async stop(actor: Actor, { call_id, chat_id, clear_queue = false }: StopRuns): Promise<StoppedView> {
    if ((call_id === undefined) === (chat_id === undefined))
      throw new Invalid('Name the run as call_id, or its chat as chat_id');
    if (clear_queue && actor.credential.run)
      throw new Forbidden('A run does not clear a queue; queue_withdraw takes one message out of it');
    const run = call_id === undefined ? undefined : await this.find(call_id);
    const chatId = chat_id ?? run?.chat_id ?? '';
    await unseenAs(run ? 'No such run' : 'No such chat', this.chats.require(actor, 'agent.stop', chatId));
    const [current, ...waiting] = (await this.runs.pending(chatId)).map(({ id }) => id);
    const first = run?.merged_into ?? call_id ?? current;
    const ids = clear_queue ? [first, current, ...waiting] : [first];
    return this.stopper.stop(
      chatId,
      [...new Set(ids)].filter(id => id !== undefined),
    );
  }

  /** The run of a message that has entered another one stops with that one. */
  private async find(callId: string): Promise<Row<Run>> {
    const run = await this.runs.find(callId);
    if (!run) throw new NotFound('No such run');
    return run;
  }
}
