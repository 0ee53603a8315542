import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { hardStopOver } from '../../identity/billing/index.js';
import {
  beforeSideEffect,
  Database,
  dryRun,
  keyedRequest,
  RequestLost,
  type Row,
  storable,
  type UnitOfWork,
} from '../../platform/database/index.js';
import { keepAttachments, type NewAttachment } from '../attachments/index.js';
import { type NewChat, newChatRow } from '../chats/index.js';
import type { PinnedAgent } from '../subagents/index.js';
import type { RunBudget } from './run-limits.js';
import { type ClaimedRun, claimedColumns, RunQueue, type WorkerSlot } from './run-queue.store.js';
import { eventRows } from './run-rows.store.js';
import { type Delivery, type NewEvent, NO_USAGE, type OnApproval, stepStarted } from './run-state.js';
import { RunExecutor } from './run-worker.js';

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
export class RunIntake {
  constructor(
    private readonly database: Database,
    private readonly queue: RunQueue,
    private readonly executor: RunExecutor,
  ) {}

  /** Adds a run to a chat, in a transaction that has locked it and makes the run runnable when its turn has come. */
  async add(unit: UnitOfWork, chat: RunChat, run: NewRun): Promise<void> {
    await sql`
      with target as (select ${chat.id}::uuid as id), ${sql.join(messageRows(chat, run))}
      update chat set last_message_at = now(), updated_at = now() where id = ${chat.id}`.execute(
      unit.tables(),
    );
  }

  /**
   * The first run of a new chat, together with the chat and in one statement; where this process has a free worker slot, it
   * begins with that. False, and nothing is done, when a chat with that id is there; or, with `unlessStopped`, when a hard
   * stop applies to it. `answer` is kept for repetitions of the request, if that has an `Idempotency-Key`. Throws where
   * another process has claimed the request.
   */
  async begin(chat: NewChat, run: NewRun, answer: object, { unlessStopped = false } = {}): Promise<boolean> {
    const request = keyedRequest();
    const slot = dryRun() ? undefined : this.queue.reserve();
    const { organization_id, workspace_id } = chat;
    const isStopped = sql`exists (
      select from (select ${organization_id}::uuid as organization_id, ${workspace_id}::uuid as workspace_id) x
      where ${hardStopOver(sql`x`)})`;
    const condition = sql`${unlessStopped ? sql`not ${isStopped}` : sql`true`} and ${request?.isHeld ?? sql`true`}`;
    const columns = claimedColumns('new_run', unlessStopped ? sql`false` : undefined);
    const insert = async (): Promise<ClaimedRun | undefined> => {
      const { rows } = await sql<ClaimedRun>`
        with target as (${newChatRow(chat, condition)}), ${sql.join(messageRows(chat, run, { isFirst: true, slot }))}
          ${request ? sql`, kept as (${request.keep(answer, sql`exists (select from new_run)`)})` : sql``}
        select ${columns}, new_message.content as said
        from new_run, new_message`.execute(this.database.tables());
      return rows[0];
    };
    const forget = slot || dryRun() ? undefined : this.executor.expect(run.callId, run.actor);
    let begun: ClaimedRun | undefined;
    try {
      // Otherwise another process may have it before this one hears of the commit.
      begun = await insert();
    } finally {
      if (!begun) {
        slot?.release();
        forget?.();
      }
    }
    if (!begun) {
      if (request) {
        const { rows } = await sql<{ held: boolean }>`select ${request.isHeld} as held`.execute(
          this.database.tables(),
        );
        if (!rows[0]?.held) throw new RequestLost();
      }
      return false;
    }
    beforeSideEffect();
    request?.committed();
    if (slot) slot.begin(begun);
    else this.queue.handOver(run.callId);
    return true;
  }

  /** Adds a task that a run starts through an action, in a transaction that has locked that run; false where its chat is there. */
  async addTask(unit: UnitOfWork, task: NewTask): Promise<boolean> {
    const { rows } = await sql`
      with parent as (
        update run set requested_tasks = requested_tasks + 1 where id = ${task.chat.task_of} returning id
      ), ${sql.join(taskRows(sql`parent`, task))}
      select from target`.execute(unit.tables());
    return rows.length > 0;
  }
}

/** The rows of a new task, as parts of a statement: none where `parent` gives no row, or its chat is there. */
export function taskRows(parent: Sql, { chat, run, call, depth, toolsAbove }: NewTask): Sql[] {
  const { callId: call_id, messageId: message_id } = run;
  const data = { call_id, chat_id: chat.id, message_id, parent_call_id: chat.task_of };
  return [
    sql`target as (${newChatRow(chat, sql`exists (select from ${parent})`)})`,
    ...newRunRows(sql`target`, chat, run, [{ type: 'run.queued', data }], {
      parent_id: chat.task_of,
      parent_step: call?.step ?? null,
      parent_position: call?.position ?? null,
      depth,
      tools_above: JSON.stringify(toolsAbove),
      deployment_id: ofRunAbove('deployment_id', chat.task_of),
      approval_seconds: ofRunAbove('approval_seconds', chat.task_of),
    }),
  ];
}

/** What a task has of the run above it. */
const ofRunAbove = (column: 'deployment_id' | 'approval_seconds', id: string): Sql =>
  sql`(select ${sql.ref(column)} from run where id = ${id}::uuid)`;

/** The rows of an accepted message and its run, in the chat that `target` gives. */
function messageRows(
  chat: RunChat,
  run: NewRun,
  { isFirst = false, slot }: { isFirst?: boolean; slot?: WorkerSlot } = {},
): Sql[] {
  const { callId: call_id, messageId: message_id, models } = run;
  const named = run.title === undefined ? {} : { title: run.title };
  const data = { call_id, chat_id: chat.id, message_id, ...named };
  const events: NewEvent[] = [{ type: 'run.queued', data }];
  if (slot)
    events.push({ type: 'run.started', data: { call_id, attempt: 1, model: models.model } }, stepStarted(1));
  const begun = slot && { state: 'running', holder: slot.processId, attempt: 1, started_at: sql`now()` };
  return newRunRows(sql`target`, chat, run, events, { due: isFirst && !slot, ...begun });
}

/**
 * The rows of a new run, its message and its events, as parts of a statement, `new_run` and `new_message` among them. `chat`
 * gives the id of its chat, and no row where nothing is to be written; `columns` are those that differ from a queued run's.
 */
function newRunRows(
  chat: Sql,
  { organization_id, workspace_id, agent_name }: Omit<RunChat, 'id'>,
  run: NewRun,
  events: readonly NewEvent[],
  columns: Record<string, unknown>,
): Sql[] {
  const { actor, callId, messageId, models, budget, delivery, onApproval, responseSchema, unattended } = run;
  const content: object[] = [{ type: 'text', text: run.text }, ...run.attachments.map(({ part }) => part)];
  const values = Object.entries({
    id: callId,
    chat_id: sql`chat.id`,
    ...{ organization_id, workspace_id, agent_name, delivery },
    ...{ status: 'pending', state: 'queued', attempt: 0, step_count: 0, last_event: events.length },
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
  const names = sql.join(values.map(([name]) => sql.ref(name)));
  const rows = [
    sql`new_run as (
      insert into run (${names}) select ${sql.join(values.map(([, value]) => value))} from ${chat} chat returning *)`,
    sql`new_message as (
      insert into message (id, chat_id, run_id, run_number, role, content, created_at)
      select ${messageId}::uuid, chat_id, id, number, 'user', ${storable(content)}::jsonb, now() from new_run returning content)`,
    sql`new_events as (${eventRows(sql`new_run`, events)})`,
  ];
  return run.attachments.length > 0 ? [...rows, keepAttachments(chat, workspace_id, run.attachments)] : rows;
}

function unattendedColumns({ of, pinned, toolsAbove, isFresh = false }: Unattended): Record<string, unknown> {
  return {
    ...('loopId' in of
      ? { loop_id: of.loopId }
      : {
          ...{ automation_run_id: of.automationRunId, deployment_id: of.deploymentId },
          approval_seconds: of.approvalSeconds,
        }),
    pinned: pinned && JSON.stringify(pinned),
    tools_above: JSON.stringify(toolsAbove),
    fresh_context: isFresh,
  };
}
