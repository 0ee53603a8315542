import { Inject, Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/actor.js';
import { Action } from '../../platform/actions/action.js';
import { iso, isoOrNull, type Row } from '../../platform/database/rows.js';
import { DEFAULT_LIMIT, decodeCursor, type Page, pageOf } from '../../platform/http/page.js';
import { Invalid } from '../../platform/http/problem.js';
import { WorkspacesStore } from '../../workspaces/index.js';
import { ChatsStore } from '../chats/chats.store.js';
import { ChatSummariesStore } from '../context/chat-summaries.store.js';
import type { Run } from './run.entity.js';
import { ListRuns, RunId, RunPage, RunRecordView, RunStepView, RunSummaryView } from './run-control.dto.js';
import { RunRecordsStore } from './run-records.store.js';
import type { RunStep } from './run-step.entity.js';
import { RunsService } from './runs.service.js';

/** Looking back at runs. */
@Injectable()
export class RunRecordsService {
  constructor(
    @Inject(RunsService) private readonly runs: RunsService,
    @Inject(RunRecordsStore) private readonly records: RunRecordsStore,
    @Inject(ChatSummariesStore) private readonly summaries: ChatSummariesStore,
    @Inject(ChatsStore) private readonly chats: ChatsStore,
    @Inject(WorkspacesStore) private readonly workspaces: WorkspacesStore,
  ) {}

  @Action({
    name: 'run_list',
    summary: 'List the runs of a chat or a workspace, newest first',
    effect: 'read',
    permission: 'chat.read',
    input: ListRuns,
    output: RunPage,
  })
  async list(
    actor: Actor,
    { limit = DEFAULT_LIMIT, cursor, ...filter }: ListRuns,
  ): Promise<Page<RunSummaryView>> {
    if ((filter.chat_id === undefined) === (filter.workspace_id === undefined))
      throw new Invalid('Name a chat as chat_id, or a workspace as workspace_id');
    if (filter.chat_id) await this.chats.require(actor, 'chat.read', filter.chat_id);
    if (filter.workspace_id) await this.workspaces.require(actor, 'chat.read', filter.workspace_id);
    const [before] = decodeCursor(cursor, 'number');
    const rows = await this.records.list({ ...filter, before, limit: limit + 1 });
    return pageOf(rows, limit, summary, row => [row.number]);
  }

  @Action({
    name: 'run_read',
    summary: 'Read the whole record of a run',
    effect: 'read',
    permission: 'chat.read',
    input: RunId,
    output: RunRecordView,
  })
  async read(actor: Actor, { call_id }: RunId): Promise<RunRecordView> {
    const status = await this.runs.status(actor, { call_id });
    const { run, steps, files } = await this.records.read(call_id);
    const { workspace_id, agent_name, model_used, created_by, attempt: attempts } = run;
    return {
      ...status,
      workspace_id,
      agent_name,
      model_used,
      created_by,
      attempts,
      steps: steps.map(stepView),
      compactions: await this.summaries.ofRun(call_id),
      files_changed: files,
    };
  }
}

function summary(run: Row<Run>): RunSummaryView {
  const { id: call_id, chat_id, workspace_id, status, state, stop_reason, model, created_by, cost_usd } = run;
  const times = { created_at: iso(run.created_at), finished_at: isoOrNull(run.finished_at) };
  return {
    call_id,
    chat_id,
    workspace_id,
    status,
    state,
    stop_reason,
    model,
    created_by,
    cost_usd,
    ...times,
  };
}

function stepView({
  number,
  finish_reason,
  model_used,
  usage,
  cost_usd,
  started_at,
  finished_at,
}: Row<RunStep>): RunStepView {
  return {
    number,
    finish_reason,
    model_used,
    usage,
    cost_usd,
    started_at: iso(started_at),
    finished_at: iso(finished_at),
  };
}
