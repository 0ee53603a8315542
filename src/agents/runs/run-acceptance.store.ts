import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  beforeSideEffect,
  Database,
  dryRun,
  type Row,
  storable,
  type UnitOfWork,
} from '../../platform/database/index.js';
import { keepAttachments, type NewAttachment } from '../attachments/index.js';
import { ChatsStore, type NewChat } from '../chats/index.js';
import type { PinnedAgent } from '../subagents/index.js';
import { type ClaimedRun, claimedColumns, RunQueue, type WorkerSlot } from './run-queue.store.js';
import { eventRows } from './run-rows.store.js';
import type { RunBudget } from './run-state.js';
import { type Delivery, type NewEvent, NO_USAGE, type OnApproval, stepStarted } from './run-state.js';

type Sql = RawBuilder<unknown>;

/** What a new run needs of its chat. */
export type RunChat = Pick<Row<'chat'>, 'id' | 'organization_id' | 'workspace_id' | 'agent_name' | 'model'>;

/** The model of a run, and those that are asked where it cannot answer. */
export interface RunModels {
  model: string;
  fallback: string[];
}

export interface NewRun {
  actor: Row<'run'>['actor'];
  callId: string;
  messageId: string;
  models: RunModels;
  text: string;
  /** The title that the message gives to its chat. */
  title?: string;
  attachments: readonly NewAttachment[];
  budget: RunBudget | undefined;
  delivery: Delivery;
  onApproval: OnApproval | null;
  responseSchema: unknown;
  /** Of a run that no request starts. */
  unattended?: Unattended;
}

/** The run of an automation. */
interface AutomatedWork {
  readonly automationRunId: string;
  /** null: a draft. */
  readonly deploymentId: string | null;
  /** How long people are waited for who are asked about a call. */
  readonly approvalSeconds: number;
}

/** What starts a run without a request, and what limits it. */
export interface Unattended {
  /** The run of an automation whose work it is, or the loop of which it is an iteration. */
  readonly of: AutomatedWork | { readonly loopId: string };
  /** What it goes by, where that is not the agent of its chat. */
  readonly pinned: PinnedAgent | null;
  readonly toolsAbove: readonly (readonly string[])[];
  /** Its model sees nothing of what was said in the chat before. */
  readonly isFresh?: boolean;
}

/** A tool call by its position in its run. */
export interface CallPosition {
  readonly step: number;
  readonly position: number;
}

/** A task that is about to be handed over: a run with a chat of its own. */
export interface NewTask {
  readonly chat: NewChat & { readonly task_of: string };
  readonly run: NewRun;
  /** The tool call whose result it is; null for one that was started through an action. */
  readonly call: CallPosition | null;
  readonly depth: number;
  readonly toolsAbove: readonly (readonly string[])[];
}

/** Writes the rows of new runs: of accepted messages, and of tasks. */
@Injectable()
export class RunAcceptance {
  constructor(
    private readonly database: Database,
    private readonly chats: ChatsStore,
    private readonly queue: RunQueue,
  ) {}

  /** Adds a run to a chat, in a transaction that has locked it and makes the run runnable when its turn has come. */
  async add(unit: UnitOfWork, chat: RunChat, run: NewRun): Promise<void> {
    await insertRun(unit, chat, run, { events: [queued(chat, run)] });
    await this.chats.noteMessage(unit, chat.id);
  }

  /**
   * The first run of a new chat, together with the chat; where this process has a free worker slot, it begins with that. False,
   * and nothing is done, when a chat with that id is there. `answer` is kept for repetitions of the request, if that has an
   * `Idempotency-Key`. Throws where another process has claimed the request.
   */
  async begin(chat: NewChat, run: NewRun, answer: object): Promise<boolean> {
    const slot = dryRun() ? undefined : this.queue.reserve();
    let begun: ClaimedRun | undefined;
    try {
      begun = await this.database.transaction(async unit => {
        if (!(await this.chats.insert(unit, chat, { withMessage: true }))) return undefined;
        const added = await insertRun(unit, chat, run, firstRun(chat, run, slot));
        await unit.answers(answer);
        return added;
      });
    } finally {
      if (!begun) slot?.release();
    }
    if (!begun) return false;
    beforeSideEffect();
    if (slot) slot.begin(begun);
    else this.queue.handOver(run.callId);
    return true;
  }

  /**
   * Adds a task, in a transaction that has locked the run above it; false where its chat is there. One that no call has
   * handed over is waited for at the end of that run.
   */
  async addTask(unit: UnitOfWork, { chat, run, call, depth, toolsAbove }: NewTask): Promise<boolean> {
    if (!(await this.chats.insert(unit, chat, { withMessage: true }))) return false;
    if (!call)
      await sql`update run set requested_tasks = requested_tasks + 1 where id = ${chat.task_of}`.execute(
        unit.tables(),
      );
    await insertRun(unit, chat, run, {
      events: [queued(chat, run, { parent_call_id: chat.task_of })],
      columns: {
        parent_id: chat.task_of,
        parent_step: call?.step ?? null,
        parent_position: call?.position ?? null,
        depth,
        tools_above: JSON.stringify(toolsAbove),
        deployment_id: ofRunAbove('deployment_id', chat.task_of),
        approval_seconds: ofRunAbove('approval_seconds', chat.task_of),
      },
    });
    return true;
  }
}

/** What a task has of the run above it. */
const ofRunAbove = (column: 'deployment_id' | 'approval_seconds', id: string): Sql =>
  sql`(select ${sql.ref(column)} from run where id = ${id}::uuid)`;

const queued = ({ id: chat_id }: { readonly id: string }, run: NewRun, more: object = {}): NewEvent => {
  const named = run.title === undefined ? {} : { title: run.title };
  const data = { call_id: run.callId, chat_id, message_id: run.messageId, ...named, ...more };
  return { type: 'run.queued', data };
};

/** The first run of a chat waits for a worker, or begins in `slot`. */
function firstRun(chat: NewChat, run: NewRun, slot: WorkerSlot | undefined): RunRows {
  const events = [queued(chat, run)];
  if (!slot) return { events, columns: { due: true } };
  const started = { call_id: run.callId, attempt: 1, model: run.models.model };
  events.push({ type: 'run.started', data: started }, stepStarted(1));
  return {
    events,
    columns: { state: 'running', holder: slot.processId, attempt: 1, started_at: sql`now()` },
  };
}

interface RunRows {
  readonly events: readonly NewEvent[];
  /** Those that differ from a queued run's. */
  readonly columns?: Record<string, unknown>;
}

/** Adds a run with its message and its events. */
async function insertRun(
  unit: UnitOfWork,
  { id: chatId, organization_id, workspace_id, agent_name }: Omit<RunChat, 'model'>,
  run: NewRun,
  { events, columns = {} }: RunRows,
): Promise<ClaimedRun | undefined> {
  const { actor, callId, messageId, models, budget, delivery, onApproval, responseSchema, unattended } = run;
  const content: object[] = [{ type: 'text', text: run.text }, ...run.attachments.map(({ part }) => part)];
  const values = Object.entries({
    id: callId,
    chat_id: chatId,
    organization_id,
    workspace_id,
    agent_name,
    delivery,
    status: 'pending',
    state: 'queued',
    attempt: 0,
    step_count: 0,
    last_event: events.length,
    model: models.model,
    fallback_models: models.fallback,
    created_by: actor.id,
    actor: JSON.stringify({ ...actor, surface: undefined }),
    usage: JSON.stringify(NO_USAGE),
    budget: budget ? JSON.stringify(budget) : null,
    on_approval: onApproval,
    response_schema: responseSchema === undefined ? null : storable(responseSchema),
    created_at: sql`now()`,
    ...(unattended && unattendedColumns(unattended)),
    ...columns,
  });
  const { rows } = await sql<ClaimedRun>`
    with new_run as (
      insert into run (${sql.join(values.map(([name]) => sql.ref(name)))})
      values (${sql.join(values.map(([, value]) => value))}) returning *
    ), new_message as (
      insert into message (id, chat_id, run_id, run_number, role, content, created_at)
      select ${messageId}::uuid, chat_id, id, number, 'user', ${storable(content)}::jsonb, now() from new_run returning content
    ), new_events as (${eventRows(sql`new_run`, events)})
    select ${claimedColumns('new_run')}, new_message.content as said from new_run, new_message`.execute(
    unit.tables(),
  );
  if (run.attachments.length > 0)
    await keepAttachments(unit, { id: chatId, workspaceId: workspace_id }, run.attachments);
  return rows[0];
}

function unattendedColumns({ of, pinned, toolsAbove, isFresh = false }: Unattended): Record<string, unknown> {
  return {
    ...('loopId' in of
      ? { loop_id: of.loopId }
      : {
          automation_run_id: of.automationRunId,
          deployment_id: of.deploymentId,
          approval_seconds: of.approvalSeconds,
        }),
    pinned: pinned && JSON.stringify(pinned),
    tools_above: JSON.stringify(toolsAbove),
    fresh_context: isFresh,
  };
}
