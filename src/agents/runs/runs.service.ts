import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { Actor, WorkspacePermission } from '../../platform/access/index.js';
import { Action, Subject } from '../../platform/actions/index.js';
import { dryRun, iso, isoOrNull } from '../../platform/database/index.js';
import { toView } from '../../platform/dto/index.js';
import { Forbidden, Invalid, NotFound, unseenAs } from '../../platform/errors/index.js';
import type { Watched } from '../../platform/streams/index.js';
import { Subscription, Topics } from '../../platform/topics/index.js';
import { ApprovalWording, type WaitingForView } from '../approvals/index.js';
import { ChatsStore, type ToolCallRow } from '../chats/index.js';
import { planView } from '../plans/index.js';
import { QuestionViews } from '../questions/index.js';
import { RunStopper } from './run-control.js';
import { RunEvents } from './run-events.service.js';
import { endTopic, type RunRow } from './run-state.js';
import {
  RunEventsInput,
  RunResultView,
  RunStatusInput,
  RunStatusView,
  StoppedView,
  StopRuns,
  ToolOutputView,
} from './runs.dto.js';
import { headOf, type PendingApproval, type RunSubject, RunsStore, type RunWithCalls } from './runs.store.js';

/** One for all: an abort without a reason makes an error, with its stack, each time. */
const OVER = new Error('The time to wait is over');

/** Watching runs, and stopping them. */
@Injectable()
export class RunsService implements BeforeApplicationShutdown {
  private readonly waiting = new Set<AbortController>();
  private isClosing = false;

  constructor(
    private readonly runs: RunsStore,
    private readonly runEvents: RunEvents,
    private readonly topics: Topics,
    private readonly wording: ApprovalWording,
    private readonly questions: QuestionViews,
    private readonly chats: ChatsStore,
    private readonly stopper: RunStopper,
  ) {}

  @Action('run_status_get', 'GET /api/agent/status/:callId', {
    on: { call_id: 'run' },
    tool: {
      name: 'run_status',
      title: 'Status of an agent run',
      description:
        'Tell how a run stands, and its result once it has ended. wait=30 waits for its end that long; ask again where it goes on.',
    },
    summary: 'Tell how a run stands, waiting for its end if asked to',
    permission: 'chat.read',
    input: RunStatusInput,
    output: RunStatusView,
  })
  async status(actor: Actor, { call_id, chat_id, wait = 0 }: RunStatusInput): Promise<RunStatusView> {
    const wakeUp = new Subscription(this.topics, endTopic(call_id));
    const patience = wait === 0 || dryRun() ? undefined : this.patience(wait);
    try {
      const limit = patience?.signal;
      const run = await this.runs.require(actor, 'chat.read', call_id);
      if (chat_id && chat_id.toLowerCase() !== run.chat_id) throw new NotFound('No such run');
      return this.view(limit ? await this.atEnd(actor, run, wakeUp, limit) : run);
    } finally {
      wakeUp.close();
      patience?.end();
    }
  }

  @Action('run_watch', {
    on: { call_id: 'run' },
    summary: 'Stream what happens in a run, from its beginning or from after an event',
    permission: 'chat.read',
    input: RunEventsInput,
    output: RunStatusView,
    restOnly: true,
  })
  async events(actor: Actor, { call_id }: RunEventsInput): Promise<Watched> {
    const { organization_id, workspace_id } = await this.requireSubject(actor, 'chat.read', call_id);
    const whose = [organization_id, actor.id];
    return { workspaceId: workspace_id, log: this.runEvents.of(call_id, whose) };
  }

  @Action('run_stop', 'POST /api/agent/stop', {
    on: { call_id: 'run', chat_id: 'chat' },
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
  private async find(callId: string): Promise<RunRow> {
    const run = await this.runs.find(callId);
    if (!run) throw new NotFound('No such run');
    return run;
  }

  /** Callers that wait for an end get the status as it is now, and ask again elsewhere. */
  beforeApplicationShutdown(): void {
    this.isClosing = true;
    for (const waiting of this.waiting) waiting.abort(OVER);
  }

  @Subject('run', 'workspace', ({ organization_id, workspace_id }: RunSubject) => ({
    organization_id,
    workspace_id,
  }))
  private requireSubject(actor: Actor, permission: WorkspacePermission, id: string): Promise<RunSubject> {
    return this.runs.requireSubject(actor, permission, id);
  }

  /** A signal that is aborted after so many seconds, or when the process is about to end. */
  private patience(seconds: number): { signal: AbortSignal; end: () => void } {
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(OVER), seconds * 1000).unref();
    this.waiting.add(over);
    if (this.isClosing) over.abort(OVER);
    const end = () => {
      clearTimeout(timer);
      this.waiting.delete(over);
    };
    return { signal: over.signal, end };
  }

  /** The run at its end, or as it stands when `limit` is aborted; whether the caller may read it is asked again then. */
  private async atEnd(
    actor: Actor,
    run: RunWithCalls,
    wakeUp: Subscription,
    limit: AbortSignal,
  ): Promise<RunWithCalls> {
    let now = run;
    while (now.status === 'pending' && !limit.aborted) {
      await wakeUp.wait(limit);
      now = await this.runs.require(actor, 'chat.read', run.id);
    }
    return now;
  }

  private view(run: RunWithCalls): RunStatusView {
    const { error, usage, merged_into, merged_step } = run;
    return {
      ...headOf(run),
      waiting_for: run.waiting_for?.map(approval => this.waitingFor(approval)) ?? null,
      questions: run.questions?.map(question => this.questions.open(question)) ?? null,
      plan: run.plan && planView(run.plan),
      error,
      ...(hasResult(run) ? { result: resultOf(run) } : {}),
      injected_into: merged_into && merged_step ? { call_id: merged_into, step: merged_step } : null,
      usage,
      context: run.context,
      started_at: isoOrNull(run.started_at),
    };
  }

  private waitingFor(approval: PendingApproval): WaitingForView {
    const { id, run_id, tool, effect, expires_at } = approval;
    return {
      approval_id: id,
      call_id: String(run_id),
      tool,
      effect,
      summary: this.wording.of(tool).summary,
      deciders: this.wording.decidersOf(approval),
      link: this.wording.linkTo(id),
      expires_at: iso(expires_at),
    };
  }
}

/** One that failed has a result where there was anything before that. */
function hasResult({ status, response, calls }: RunWithCalls): boolean {
  return status === 'completed' || (status === 'error' && (!!response || (calls?.length ?? 0) > 0));
}

function resultOf({ response, response_json, calls }: RunWithCalls): RunResultView {
  const toolOutputs = (calls ?? []).map(toolOutput);
  const json = response_json ? { json: response_json.value } : {};
  return { response: response ?? '', ...json, toolOutputs };
}

function toolOutput(call: ToolCallRow): ToolOutputView {
  const { started_at, finished_at, call_id: id } = call;
  const duration_ms = started_at && finished_at ? Date.parse(finished_at) - Date.parse(started_at) : null;
  return toView(ToolOutputView, call, { id, duration_ms });
}
