import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { hardStopOver } from '../../identity/billing/index.js';
import type { Actor } from '../../platform/access/index.js';
import {
  beforeSideEffect,
  Database,
  dryRun,
  type KeyedRequest,
  keyedRequest,
  RequestLost,
  storable,
  type UnitOfWork,
} from '../../platform/database/index.js';
import { keepAttachments, type NewAttachment } from '../attachments/index.js';
import type { Chat } from '../chats/index.js';
import type { RunBudget } from './run-limits.js';
import { type Place, RunQueue, type TakenRun, takenColumns } from './run-queue.js';
import { type Delivery, NO_USAGE, type OnApproval } from './run-state.js';

/** A chat as a new run needs it. */
export type Target = Pick<Chat, 'id' | 'organizationId' | 'workspaceId' | 'agentName' | 'model'>;

/** The model of a run, and those that are asked where it cannot answer. */
export interface RunModels {
  model: string;
  fallback: string[];
}

export interface NewRun {
  actor: Actor;
  callId: string;
  messageId: string;
  models: RunModels;
  text: string;
  attachments: readonly NewAttachment[];
  budget: RunBudget | undefined;
  delivery: Delivery;
  onApproval: OnApproval | null;
  responseSchema: unknown;
}

/** Writes accepted messages down, each with its run and what is told of it. */
@Injectable()
export class RunIntake {
  constructor(
    private readonly database: Database,
    private readonly queue: RunQueue,
  ) {}

  /** Adds a run to a chat, in a transaction that holds it and lets the run go when its turn has come. */
  async add(unit: UnitOfWork, chat: Target, run: NewRun): Promise<void> {
    await sql`
      with place as (select ${chat.id}::uuid as id), ${this.written(chat, run)}
      update chat set last_message_at = now(), updated_at = now() where id = ${chat.id}`.execute(
      unit.tables(),
    );
  }

  /**
   * The first run of a new chat, together with the chat and in one statement; where this process has room for it, it has
   * begun with that. False, and nothing is done, when a chat with that id is there; or, with `unlessStopped`, when a hard
   * stop stands over its place. `answer` is kept for repetitions of the request, if that has an `Idempotency-Key`. Throws
   * where another process has taken the request over.
   */
  async begin(chat: Chat, run: NewRun, answer: object, { unlessStopped = false } = {}): Promise<boolean> {
    const request = keyedRequest();
    const place = dryRun() ? undefined : this.queue.reserve();
    let begun: TakenRun | undefined;
    try {
      const { rows } = await sql<TakenRun>`
        with place as (${newChat(chat, { unlessStopped, request })}), ${this.written(chat, run, { isFirst: true, place })}
          ${request ? sql`, kept as (${request.keep(answer, sql`exists (select from accepted)`)})` : sql``}
        select ${takenColumns('accepted')}, said.content as said from accepted, said`.execute(
        this.database.tables(),
      );
      begun = rows[0];
    } finally {
      if (!begun) place?.free();
    }
    if (!begun) {
      if (request) await this.requireHeld(request);
      return false;
    }
    beforeSideEffect();
    request?.committed();
    if (place) place.begin(begun);
    else this.queue.tellDue();
    return true;
  }

  private async requireHeld(request: KeyedRequest): Promise<void> {
    const { rows } = await sql<{ held: boolean }>`select ${request.isHeld} as held`.execute(
      this.database.tables(),
    );
    if (!rows[0]?.held) throw new RequestLost();
  }

  private written(
    chat: Target,
    run: NewRun,
    { isFirst = false, place }: { isFirst?: boolean; place?: Place } = {},
  ): RawBuilder<unknown> {
    const { actor, callId, messageId, text, budget, delivery, onApproval, responseSchema } = run;
    const { model, fallback } = run.models;
    const content = storable([{ type: 'text', text }, ...run.attachments.map(({ part }) => part)]);
    const attached =
      run.attachments.length > 0
        ? sql`, ${keepAttachments(sql`place`, chat.workspaceId, run.attachments)}`
        : sql``;
    const events: [string, object][] = [
      ['run.queued', { call_id: callId, chat_id: chat.id, message_id: messageId }],
    ];
    if (place)
      events.push(['run.started', { call_id: callId, attempt: 1, model }], ['step.started', { step: 1 }]);
    // A run that comes in while the agents of its workspace are turned off waits for that, and is refused when it begins.
    return sql`held as (
        select 'agents' = any(features_off) as agents_off from workspace where id = ${chat.workspaceId}::uuid for key share
      ), accepted as (
        insert into run (id, chat_id, organization_id, workspace_id, status, state, due, holder, attempt, started_at, agent_name,
          model, created_by, actor, step_count, last_event, usage, budget, delivery, on_approval,
          response_schema, fallback_models, authority_changed, created_at)
        select ${callId}::uuid, place.id, ${chat.organizationId}::uuid, ${chat.workspaceId}::uuid, 'pending',
          ${place ? 'running' : 'queued'}, ${isFirst && !place}::boolean, ${place?.holder ?? null}::uuid, ${place ? 1 : 0}::int,
          case when ${place !== undefined}::boolean then now() end, ${chat.agentName}, ${model}, ${actor.id}::uuid,
          ${JSON.stringify({ ...actor, surface: undefined })}::jsonb, 0, ${events.length}::int, ${JSON.stringify(NO_USAGE)}::jsonb,
          ${budget ? JSON.stringify(budget) : null}::jsonb, ${delivery}, ${onApproval},
          ${responseSchema === undefined ? null : storable(responseSchema)}::json, ${fallback}::text[],
          coalesce((select agents_off from held), false), now() from place
        returning *
      ), said as (
        insert into message (id, chat_id, run_id, run_number, role, content, created_at)
        select ${messageId}::uuid, chat_id, id, number, 'user', ${content}::jsonb, now() from accepted returning content
      ), told as (
        insert into run_event (run_id, id, type, data, created_at)
        select accepted.id, e.ordinality, e.value ->> 0, e.value -> 1, now()
        from accepted, jsonb_array_elements(${storable(events)}::jsonb) with ordinality as e
      )${attached}`;
  }
}

function newChat(
  chat: Chat,
  { unlessStopped, request }: { unlessStopped: boolean; request: KeyedRequest | undefined },
): RawBuilder<unknown> {
  const { id, title, organizationId, workspaceId, agentName, model, pinned, archived, createdBy } = chat;
  return sql`
    insert into chat (id, title, organization_id, workspace_id, agent_name, model, pinned, archived, created_by, created_at,
      updated_at, last_message_at)
    select ${id}::uuid, ${title}, x.organization_id, x.workspace_id, ${agentName}, ${model}, ${pinned}::boolean,
      ${archived}::boolean, ${createdBy}::uuid, ${chat.createdAt.toISOString()}::timestamptz,
      ${chat.updatedAt.toISOString()}::timestamptz, now()
    from (select ${organizationId}::uuid as organization_id, ${workspaceId}::uuid as workspace_id) x
    where ${unlessStopped ? sql`not ${hardStopOver(sql`x`)}` : sql`true`} and ${request?.isHeld ?? sql`true`}
    on conflict do nothing returning id`;
}
