import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { RunsStore, TaskIntake } from '../runs/index.js';
import { type LoopRow, LoopsStore } from './records/index.js';

/** Whom a loop acts for, and what limits it. */
export type Standing = Pick<LoopRow, 'actor' | 'tools_above'>;

/** Finds out whom a loop is to act for that somebody makes or resumes. */
@Injectable()
export class LoopAuthority {
  constructor(
    private readonly loops: LoopsStore,
    private readonly runs: RunsStore,
    private readonly tasks: TaskIntake,
  ) {}

  /** That of the caller. A run's loops act on the authority that the run has, within what limits it, and outlive it. */
  async of(actor: Actor, workspaceId: string): Promise<Standing> {
    const { run: by } = actor.credential;
    if (!by) return { actor: { ...actor, surface: undefined }, tools_above: [] };
    const run = await this.runs.find(by.id);
    if (run?.status !== 'pending') throw new Conflict('The run has ended, so it can start nothing more');
    if (run.workspace_id !== workspaceId)
      throw new Invalid('workspace_id: a run starts loops in its own workspace alone');
    if (await this.loops.isWithinLoop(run.id))
      throw new Conflict('A run of a loop starts no other loop; do the work in this one');
    return { actor: run.actor, tools_above: by.tools ?? (await this.tasks.toolsOf(run.id)) };
  }
}
