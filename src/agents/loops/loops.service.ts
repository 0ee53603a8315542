import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { ById, type Page } from '../../platform/dto/index.js';
import { Conflict } from '../../platform/errors/index.js';
import type { Watched } from '../../platform/streams/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { RunStopper, RunWriter } from '../runs/index.js';
import { LoopEvents } from './loop-events.js';
import { LoopStarter } from './loop-starter.js';
import { loopRecordView, loopView } from './loop-views.js';
import {
  CreateLoop,
  ListLoops,
  LoopPage,
  LoopRecordView,
  LoopView,
  ResumeLoop,
  WatchLoop,
} from './loops.dto.js';
import { type LoopRow, LoopsStore } from './records/index.js';
import { LoopEnds } from './running/index.js';

/** Loops: made, looked at, stopped, resumed. */
@Injectable()
export class LoopsService {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly loops: LoopsStore,
    private readonly starter: LoopStarter,
    private readonly ends: LoopEnds,
    private readonly stopper: RunStopper,
    private readonly runs: RunWriter,
    private readonly audit: Audit,
  ) {}

  @Action('loop_create', 'POST /api/loops', {
    summary: 'Have an agent repeat a task in one chat until a pinned check, schema or rubric is met',
    description:
      'Each iteration is a run. What it leaves is checked by a script, a JSON Schema and an independent grader, all pinned now; what is unmet goes back to the agent.',
    permission: 'loop.run',
    input: CreateLoop,
    output: LoopView,
    commitsAnswer: true,
    makes: 'id',
    refuses: {
      402: 'A budget is reached, or has no room for one more model call',
      404: 'No such workspace, agent or file',
      409: 'As many loops are open in the workspace as may be, or a run of a loop would start another',
    },
  })
  async create(actor: Actor, input: CreateLoop): Promise<LoopView> {
    const workspace = await this.workspaces.require(actor, 'loop.run', input.workspace_id);
    const ready = await this.starter.ready(actor, workspace, input);
    return this.database.transaction(async unit => {
      const loop = await this.starter.add(unit, ready);
      const { goal, max_iterations, budget } = loop;
      const details = {
        check: goal.check?.sha256 ?? null,
        grader: goal.rubric?.model ?? null,
        max_iterations,
        budget,
      };
      await this.audit.record(unit, actor, 'loop.create', targetOf(loop), details);
      return unit.answers(loopView(loop));
    });
  }

  @Action('loop_list', 'GET /api/loops', {
    summary: 'List loops in the workspaces that the caller sees, newest first',
    permission: 'loop.read',
    input: ListLoops,
    output: LoopPage,
    refuses: { 404: 'No such workspace' },
  })
  async list(actor: Actor, input: ListLoops): Promise<Page<LoopView>> {
    requireScope(actor, 'loop.read');
    if (input.workspace_id) await this.workspaces.require(actor, 'loop.read', input.workspace_id);
    const page = await this.loops.list(actor, input);
    return { ...page, items: page.items.map(loopView) };
  }

  @Action('loop_get', 'GET /api/loops/:id', {
    on: { id: 'loop' },
    summary: 'Read how a loop stands, with what each iteration was found to be',
    permission: 'loop.read',
    input: ById({ id: 'The loop' }),
    output: LoopRecordView,
  })
  async read(actor: Actor, { id }: ById): Promise<LoopRecordView> {
    const loop = await this.loops.require(actor, 'loop.read', id);
    return loopRecordView(loop, await this.loops.iterations(id));
  }

  @Action('loop_watch', {
    on: { id: 'loop' },
    summary: 'Stream what happens to a loop, to its end',
    permission: 'loop.read',
    input: WatchLoop,
    output: LoopView,
    restOnly: true,
  })
  async events(actor: Actor, { id }: WatchLoop): Promise<Watched> {
    const { workspace_id } = await this.loops.require(actor, 'loop.read', id);
    return { workspaceId: workspace_id, log: new LoopEvents(this.loops, id) };
  }

  @Action('loop_stop', 'POST /api/loops/:id/stop', {
    on: { id: 'loop' },
    summary: 'Stop a loop with its run; what it did is kept, and it can be resumed',
    permission: 'loop.run',
    input: ById({ id: 'The loop' }),
    output: LoopView,
    commitsAnswer: true,
  })
  async stop(actor: Actor, { id }: ById): Promise<LoopView> {
    const { chat_id } = await this.loops.require(actor, 'loop.run', id);
    return this.database.transaction(async unit => {
      // Before the loop, as where an iteration begins.
      await this.runs.lockChat(unit, chat_id);
      const loop = await this.loops.lock(unit, id);
      if (loop.state === 'done') return unit.answers(loopView(loop));
      if (loop.state === 'running' && loop.call_id)
        await this.stopper.stopWithin(unit, chat_id, [loop.call_id]);
      const reason = `${actor.name} stopped it`;
      const ended = await this.ends.end(unit, id, { outcome: 'stopped', reason });
      await this.audit.record(unit, actor, 'loop.stop', targetOf(loop), { iteration: loop.iteration });
      return unit.answers(loopView(ended ?? loop));
    });
  }

  @Action('loop_resume', 'POST /api/loops/:id/resume', {
    on: { id: 'loop' },
    summary: 'Let a loop go on that has ended without being satisfied, on the authority of the caller',
    permission: 'loop.run',
    input: ResumeLoop,
    output: LoopView,
    commitsAnswer: true,
    refuses: {
      409: 'It is at work or satisfied, its chat was deleted, or as many loops are open as may be',
    },
  })
  async resume(actor: Actor, input: ResumeLoop): Promise<LoopView> {
    const loop = await this.loops.require(actor, 'loop.run', input.id);
    if (loop.state !== 'done') throw new Conflict('It has not ended; stop it first, or let it go on');
    const changes = await this.starter.readyAgain(actor, loop, input);
    return this.database.transaction(async unit => {
      const resumed = await this.starter.resume(unit, loop, changes);
      const { max_iterations, budget } = resumed;
      await this.audit.record(unit, actor, 'loop.resume', targetOf(loop), { max_iterations, budget });
      return unit.answers(loopView(resumed));
    });
  }
}

const targetOf = ({ id, organization_id, workspace_id }: LoopRow) => ({
  type: 'loop',
  id,
  organization_id,
  workspace_id,
});
