import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { iso } from '../../platform/database/index.js';
import { ById, type Page } from '../../platform/dto/index.js';
import { Conflict, Invalid, NotFound } from '../../platform/errors/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { RunFiles, RunRollback } from '../../workspaces/history/index.js';
import { ChatSummariesStore, ChatsStore } from '../chats/index.js';
import {
  ListRuns,
  RollbackRun,
  RolledBackView,
  RunPage,
  RunRecordView,
  RunStepView,
  RunSummaryView,
  type TaskView,
} from './run-records.dto.js';
import type { RunRow } from './run-state.js';
import { RunsService } from './runs.service.js';
import { headOf, RunsStore, type StepRow } from './runs.store.js';
import { type TaskRow, TasksStore } from './tasks.store.js';

/** Files that a record names. */
const MAX_FILES = 1000;

/** Looking back at runs. */
@Injectable()
export class RunRecordsService {
  constructor(
    private readonly runs: RunsService,
    private readonly records: RunsStore,
    private readonly summaries: ChatSummariesStore,
    private readonly chats: ChatsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly tasks: TasksStore,
    private readonly runFiles: RunFiles,
  ) {}

  @Action('run_list', 'GET /api/agent/runs', {
    on: { chat_id: 'chat', workspace_id: 'workspace', parent_call_id: 'run' },
    summary: 'List the runs of a chat or a workspace, or the tasks of a run, newest first',
    permission: 'chat.read',
    input: ListRuns,
    output: RunPage,
  })
  async list(actor: Actor, input: ListRuns): Promise<Page<RunSummaryView>> {
    const { chat_id, workspace_id, parent_call_id } = input;
    if ([chat_id, workspace_id, parent_call_id].filter(id => id !== undefined).length !== 1)
      throw new Invalid('Name a chat as chat_id, or a workspace as workspace_id, or a run as parent_call_id');
    if (chat_id) await this.chats.require(actor, 'chat.read', chat_id);
    if (workspace_id) await this.workspaces.require(actor, 'chat.read', workspace_id);
    if (parent_call_id) await this.runs.status(actor, { call_id: parent_call_id });
    const page = await this.records.list(input);
    return { ...page, items: page.items.map(summary) };
  }

  @Action('run_get', 'GET /api/agent/runs/:callId', {
    on: { call_id: 'run' },
    summary: 'Read the whole record of a run',
    permission: 'chat.read',
    input: ById({ call_id: 'The run' }),
    output: RunRecordView,
  })
  async read(actor: Actor, { call_id }: ById<'call_id'>): Promise<RunRecordView> {
    const status = await this.runs.status(actor, { call_id });
    const [run, steps, tasks, spent] = await Promise.all([
      this.records.find(call_id),
      this.records.steps(call_id),
      this.tasks.list(call_id),
      this.tasks.spent(call_id),
    ]);
    if (!run) throw new NotFound('No such run');
    const below = [...spent.values()];
    const { workspace_id, agent_name, fallback_models, model_used, created_by, attempt: attempts } = run;
    const { ids } = await this.tasks.family(call_id);
    const files = workspace_id === null ? [] : await this.runFiles.changed(workspace_id, ids, MAX_FILES);
    return {
      ...status,
      workspace_id,
      parent_call_id: run.parent_id,
      agent_name,
      fallback_models,
      model_used,
      created_by,
      attempts,
      steps: steps.map(stepView),
      compactions: await this.summaries.ofRun(call_id),
      tasks: tasks.map(taskView),
      total_steps: below.reduce((sum, { steps: its }) => sum + its, run.step_count),
      total_cost_usd: below.reduce(
        (sum: number | null, { usd }) => (sum === null || usd === null ? null : sum + usd),
        run.cost_usd,
      ),
      files_changed: files,
    };
  }
}

function summary(run: RunRow): RunSummaryView {
  const { workspace_id, parent_id: parent_call_id, agent_name, created_by } = run;
  return { ...headOf(run), workspace_id, parent_call_id, agent_name, created_by };
}

function taskView(task: TaskRow): TaskView {
  const { tool_call_id, agent_name, title: description, step_count } = task;
  return { ...headOf(task), tool_call_id, agent_name: agent_name ?? '', description, step_count };
}

function stepView({ run_id: _, started_at, finished_at, ...step }: StepRow): RunStepView {
  return { ...step, started_at: iso(started_at), finished_at: iso(finished_at) };
}

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

  @Action('run_rollback', 'POST /api/agent/runs/:callId/rollback', {
    on: { call_id: 'run' },
    summary: 'Make the files that a run and its tasks changed what they were before it',
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
