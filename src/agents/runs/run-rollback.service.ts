import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { iso } from '../../platform/database/index.js';
import { Conflict, NotFound } from '../../platform/errors/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { RunRollback } from '../../workspaces/history/index.js';
import { RollbackRun, RolledBackView } from './run-records.dto.js';
import { RunsService } from './runs.service.js';
import { RunsStore } from './runs.store.js';
import { TasksStore } from './tasks.store.js';

/** Taking back what runs did to files. */
@Injectable()
export class RunRollbackService {
  constructor(
    private readonly runs: RunsService,
    private readonly store: RunsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly tasks: TasksStore,
    private readonly files: RunRollback,
  ) {}

  @Action({
    name: 'run_rollback',
    on: { call_id: 'run' },
    summary: 'Make the files that a run and its tasks changed what they were before it',
    effect: 'destructive',
    consequence:
      'What the run did to files is undone; the versions of before stay in the history and can be put back from there.',
    permission: 'file.write',
    input: RollbackRun,
    output: RolledBackView,
    evidence: 'read the changes of the run; reverting again does what is left',
    refuses: {
      404: 'No such run',
      409: 'The run is in flight, or somebody changed files since: the detail names them',
      413: 'The workspace has no room for what it had before',
      503: 'This machine has no git, or no sandbox to run it in',
    },
  })
  async rollback(actor: Actor, { call_id, skip_changed = false }: RollbackRun): Promise<RolledBackView> {
    await this.runs.status(actor, { call_id });
    const run = await this.store.find(call_id);
    if (!run) throw new NotFound('No such run');
    if (run.workspace_id === null) throw new Conflict('The run has no workspace, so it changed no files');
    const workspace = await this.workspaces.require(actor, 'file.write', run.workspace_id);
    const { ids, ended } = await this.tasks.family(run.id);
    if (!ended) throw new Conflict('The run, or a task of it, is still in flight; stop it first');
    const startedAt = iso(run.started_at ?? run.created_at);
    const reverted = await this.files.rollback(actor, workspace, { ids, startedAt }, skip_changed);
    return { call_id, ...reverted };
  }
}
