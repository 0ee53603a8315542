import { type RawBuilder, sql } from 'kysely';
import type { Actor } from '../../platform/access/index.js';
import { storable } from '../../platform/database/index.js';
import { NO_USAGE, type OnApproval } from './run.entity.js';
import type { RunBudget } from './run-limits.js';
import type { CallPlace } from './tasks.store.js';

/** A task that is about to be handed over: a run with a chat of its own. */
export interface NewTask {
  readonly id: string;
  readonly chatId: string;
  readonly messageId: string;
  /** The tool call whose result it is; null for one that was started through an action. */
  readonly place: CallPlace | null;
  readonly title: string;
  readonly agentName: string | null;
  readonly model: string;
  readonly actor: Actor;
  readonly onApproval: OnApproval | null;
  readonly depth: number;
  readonly toolsAbove: readonly (readonly string[])[];
  /** Its first message, and its first event, as JSON. */
  readonly content: string;
  readonly queued: string;
  /** What only a message that an action sends can ask for. */
  readonly more?: TaskRequest;
}

export interface TaskRequest {
  readonly budget: RunBudget | undefined;
  readonly fallback: readonly string[];
  readonly responseSchema: unknown;
}

/** The rows of a new task, as parts of one statement; `parent` is the row of the run that hands it over. None where its chat is there. */
export function taskRows(parent: RawBuilder<unknown>, task: NewTask): RawBuilder<unknown>[] {
  const { id, chatId, messageId, place, title, agentName, model, actor, depth, toolsAbove } = task;
  const { budget, fallback = [], responseSchema } = task.more ?? {};
  return [
    sql`opened as (
      insert into chat (id, title, organization_id, workspace_id, agent_name, model, pinned, archived, created_by, created_at,
        updated_at, last_message_at, task_of)
      select ${chatId}::uuid, ${title}, organization_id, workspace_id, ${agentName}, null, false, false, created_by, now(), now(), now(), id
      from ${parent} on conflict (id) do nothing returning id)`,
    sql`handed as (
      insert into run (id, chat_id, organization_id, workspace_id, status, state, agent_name, model, created_by, actor, attempt,
        step_count, last_event, usage, created_at, parent_id, parent_step, parent_position, depth, tools_above, on_approval,
        budget, fallback_models, response_schema)
      select ${id}, opened.id, p.organization_id, p.workspace_id, 'pending', 'queued', ${agentName}, ${model}, p.created_by,
        ${JSON.stringify(actor)}::jsonb, 0, 0, 1, ${JSON.stringify(NO_USAGE)}::jsonb, now(), p.id, ${place?.step ?? null}::int,
        ${place?.position ?? null}::int, ${depth}::int, ${JSON.stringify(toolsAbove)}::jsonb, ${task.onApproval},
        ${budget ? JSON.stringify(budget) : null}::jsonb, ${[...fallback]}::text[],
        ${responseSchema === undefined ? null : storable(responseSchema)}::json
      from ${parent} p, opened returning id, number, chat_id)`,
    sql`asked as (
      insert into message (id, chat_id, run_id, run_number, role, content, created_at)
      select ${messageId}, chat_id, id, number, 'user', ${task.content}::jsonb, now() from handed)`,
    sql`announced as (
      insert into run_event (run_id, id, type, data, created_at)
      select id, 1, 'run.queued', ${task.queued}::jsonb, now() from handed)`,
  ];
}
