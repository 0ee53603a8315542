import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { storable, type UnitOfWork } from '../../platform/database/index.js';
import { notifyTopic } from '../../platform/topics/index.js';
import { ApprovalsStore } from '../approvals/index.js';
import { QuestionsStore } from '../questions/index.js';
import type { RunJournal } from './run-journal.js';
import { eventRows, eventsAfter, newestEvent, transition } from './run-rows.store.js';
import {
  approvalResolvedEvent,
  claimTopic,
  type NewEvent,
  questionClosedEvent,
  type RunRow,
  runTopic,
} from './run-state.js';

const STOPPED_CALL = 'Stopped before it had finished; it may have taken effect in part.';
/** Of the output of a call that was stopped, the last characters. */
const MAX_KEPT_OUTPUT = 30_000;

/**
 * Writes to runs from outside of their attempts: stopping, resuming, steering, reordering, and events for their watchers.
 * All of it happens with the chat locked.
 */
@Injectable()
export class RunWriter {
  constructor(
    private readonly approvals: ApprovalsStore,
    private readonly questions: QuestionsStore,
  ) {}

  /**
   * Locks the chat until the transaction ends: only one at a time adds a run to it or ends one. Its workspace before it, as
   * do those who delete that: else each could wait for the other.
   */
  async lockChat(unit: UnitOfWork, chatId: string): Promise<void> {
    await sql`
      with place as (
        select w.id from chat c join workspace w on w.id = c.workspace_id where c.id = ${chatId} for key share of w
      )
      select 1 from chat where id = ${chatId} and (select count(*) from place) >= 0 for no key update`.execute(
      unit.tables(),
    );
  }

  /**
   * Locks the runs above one, the uppermost first: before it is ended or resumed from outside, and before what it asks is
   * decided. A run is locked before its tasks.
   */
  async lockRunsAbove(unit: UnitOfWork, runId: string): Promise<void> {
    await sql`
      with recursive above as (
        select parent_id as id from run where id = ${runId} and parent_id is not null
        union all
        select r.parent_id from run r join above a on r.id = a.id where r.parent_id is not null
      )
      select from run where id in (select id from above) order by depth for update`.execute(unit.tables());
  }

  /** Locks a run that has not ended, after those above it; undefined where it has. */
  async lockRun(unit: UnitOfWork, runId: string): Promise<RunRow | undefined> {
    await this.lockRunsAbove(unit, runId);
    const { rows } = await sql<RunRow>`
      select * from run where id = ${runId} and status = 'pending' and merged_into is null for update`.execute(
      unit.tables(),
    );
    return rows[0];
  }

  /** Tells the watchers of a run that has not ended; with `wakeWorker`, its worker looks up, too. */
  async append(
    unit: UnitOfWork,
    runId: string,
    events: readonly NewEvent[],
    { wakeWorker = false } = {},
  ): Promise<void> {
    const topics = wakeWorker ? [runTopic(runId), claimTopic(runId)] : [runTopic(runId)];
    await sql`
      with changed as (
        update run set last_event = last_event + ${events.length} where id = ${runId} and status = 'pending'
        returning id, last_event
      ), told as (${eventRows(sql`changed`, events)})
      select ${notifyTopic(sql`topic`)} from changed, unnest(${topics}::text[]) topic`.execute(unit.tables());
  }

  /** Begins an attempt that only ends the run, and makes its worker look up; undefined where it has ended. */
  async cancel(unit: UnitOfWork, id: string): Promise<RunJournal['run'] | undefined> {
    const { rows } = await sql<RunJournal['run']>`
      update run set attempt = attempt + 1, ${transition('cancel').set}, due = false, holder = null
      where id = ${id} and status = 'pending' and merged_into is null
      returning id, chat_id, number, attempt, ${notifyTopic(claimTopic.sql(sql`run.id`))}`.execute(
      unit.tables(),
    );
    return rows[0];
  }

  /** Nothing is to be decided about the calls of the run, or to be answered, any more. */
  async withdrawAsked(unit: UnitOfWork, runId: string): Promise<void> {
    const approvals = await this.approvals.cancelOf(unit, runId);
    const questions = await this.questions.cancelOf(unit, runId);
    const events = [...approvals.map(approvalResolvedEvent), ...questions.map(questionClosedEvent)];
    if (events.length > 0) await this.append(unit, runId, events);
  }

  /** Resumes a run that waits for nobody any more; says whether it did. The time it waited is not its own. */
  async resume(unit: UnitOfWork, runId: string): Promise<boolean> {
    const { set, from } = transition('resume');
    const { rows } = await sql`
      update run set ${set}, waited_ms = waited_ms + extract(epoch from now() - waiting_since) * 1000, waiting_since = null
      where id = ${runId} and status = 'pending' and ${from}
        and not exists (select 1 from approval a where a.run_id = run.id and a.status = 'pending')
        and not exists (select 1 from question q where q.run_id = run.id and q.status = 'pending')
      returning id`.execute(unit.tables());
    return rows.length > 0;
  }

  /** The text of the step that was cut off, which is kept as part of the conversation; else what the last step said. */
  async keepCutOff(unit: UnitOfWork, { id, chat_id, number }: RunJournal['run']): Promise<string> {
    const stepBegan = sql`coalesce(${newestEvent(id, sql`e.type in ('step.finished', 'step.restarted')`)}, 0)`;
    const { rows: cut } = await sql<{ text: string | null }>`
      select string_agg(e.data ->> 'text', '' order by e.id) as text from ${eventsAfter(id, stepBegan)} e
      where e.type = 'text.delta'`.execute(unit.tables());
    const text = cut[0]?.text;
    if (text) {
      await sql`
        insert into message (id, chat_id, run_id, run_number, role, content, created_at)
        values (gen_random_uuid(), ${chat_id}, ${id}, ${number}::bigint, 'assistant',
          ${storable([{ type: 'text', text }])}::jsonb, now())`.execute(unit.tables());
      return text;
    }
    const { rows: last } = await sql<{ text: string | null }>`
      select (select string_agg(part ->> 'text', '') from jsonb_array_elements(content) part where part ->> 'type' = 'text') as text
      from message where run_id = ${id} and role = 'assistant' order by number desc limit 1`.execute(
      unit.tables(),
    );
    return last[0]?.text ?? '';
  }

  /** Calls without a result get one, so that the next turn of the chat is whole: what they gave before they were stopped. */
  async closeCalls(unit: UnitOfWork, runId: string, ofPlanned: string): Promise<void> {
    const callBegan = newestEvent(runId, sql`e.type = 'tool.started' and e.data ->> 'id' = c.call_id`);
    await sql`
      update tool_call c set is_error = true, finished_at = now(), state = 'finished',
        output = case c.state when 'started' then coalesce((
          select case when length(text) > ${MAX_KEPT_OUTPUT} then '…' else '' end || right(text, ${MAX_KEPT_OUTPUT}) || E'\n\n' from (
            select string_agg(e.data ->> 'text', '' order by e.id) as text from ${eventsAfter(runId, callBegan)} e
            where e.type = 'tool.output' and e.data ->> 'id' = c.call_id) given), '')
          || ${STOPPED_CALL} else ${ofPlanned} end
      where c.run_id = ${runId} and c.state <> 'finished'`.execute(unit.tables());
  }

  /** The message of a waiting run is to enter `runId`. */
  async steer(unit: UnitOfWork, id: string, runId: string): Promise<void> {
    await sql`update run set delivery = 'steer', steers_run_id = ${runId} where id = ${id}`.execute(
      unit.tables(),
    );
  }

  /** Counts anew how many messages wait to enter a run. */
  async recountSteers(unit: UnitOfWork, runId: string): Promise<void> {
    await sql`
      update run h set steers = (
        select count(*) from run s
        where s.chat_id = h.chat_id and s.status = 'pending' and s.steers_run_id = h.id and s.merged_into is null)
      where h.id = ${runId} and h.status = 'pending'`.execute(unit.tables());
  }

  /**
   * Merges the messages that wait into the run, before step `step`: they follow what was said so far, and their own runs end
   * with this one. Returns how many there were; throws RunLost where the run is not the journal's any more.
   */
  async mergeSteers(unit: UnitOfWork, journal: RunJournal, step: number): Promise<number> {
    const { id: into_call_id, chat_id, number } = journal.run;
    const { rows } = await sql<{ call_id: string; message_id: string }>`
      select r.id as call_id, m.id as message_id from run r join message m on m.run_id = r.id and m.role = 'user'
      where r.chat_id = ${chat_id} and r.status = 'pending' and r.steers_run_id = ${into_call_id} and r.merged_into is null
      order by r.number`.execute(unit.tables());
    const events = rows.map(
      (row): NewEvent => ({ type: 'message.injected', data: { ...row, into_call_id, step } }),
    );
    for (const [index, { call_id, message_id }] of rows.entries()) {
      await sql`
        update message set run_id = ${into_call_id}, run_number = ${number}::bigint, number = default where id = ${message_id}`.execute(
        unit.tables(),
      );
      // What it costs is entered with the run that it was merged into.
      await sql`
        with merged as (
          update run set merged_into = ${into_call_id}, merged_step = ${step}, ${transition('merge').set}, started_at = now(),
            cost_usd = 0, last_event = last_event + 1
          where id = ${call_id} returning id, last_event
        ), told as (${eventRows(sql`merged`, events.slice(index, index + 1))})
        select ${notifyTopic(runTopic.sql(sql`id`))} from merged`.execute(unit.tables());
    }
    await journal.merged(events, unit);
    return rows.length;
  }

  /** Puts waiting runs of one chat in the order given: they exchange their numbers, and their messages with them. */
  async arrange(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
    await sql`
      with slot as (
        select number, row_number() over (order by number) as place from run where id = any(${[...ids]}::uuid[])
      ), moved as (
        update run r set number = slot.number
        from unnest(${[...ids]}::uuid[]) with ordinality as wanted(id, place) join slot using (place)
        where r.id = wanted.id and r.number <> slot.number returning r.id, r.number
      )
      update message m set run_number = moved.number from moved where m.run_id = moved.id`.execute(
      unit.tables(),
    );
  }

  /** Changes a message whose run has not begun; says whether it could. */
  async rewriteMessage(unit: UnitOfWork, messageId: string, text: string): Promise<boolean> {
    const { rows } = await sql`
      with waiting as (
        select r.id from run r join message m on m.run_id = r.id
        where m.id = ${messageId} and r.status = 'pending' and r.attempt = 0 and r.merged_into is null for update of r
      )
      update message set content = ${storable([{ type: 'text', text }])}::jsonb || coalesce(
        (select jsonb_agg(part) from jsonb_array_elements(content) part where part ->> 'type' = 'attachment'), '[]')
      where id = ${messageId} and run_id in (select id from waiting) returning id`.execute(unit.tables());
    return rows.length > 0;
  }

  /** Deletes a message whose run was withdrawn from the conversation. */
  async deleteMessage(unit: UnitOfWork, messageId: string): Promise<void> {
    await sql`delete from message where id = ${messageId}`.execute(unit.tables());
  }
}
