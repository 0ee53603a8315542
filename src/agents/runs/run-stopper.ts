import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, storable, type UnitOfWork } from '../../platform/database/index.js';
import { Topics } from '../../platform/topics/index.js';
import { FeatureEnds } from '../../workspaces/core/index.js';
import { ApprovalsStore } from '../approvals/index.js';
import { approvalResolvedEvent } from './run-event.js';
import { type RunEnd, RunJournal } from './run-journal.js';
import { holdTopic, type RunFault, RunLost, transition } from './run-state.js';
import { RunsStore } from './runs.store.js';
import { holdRunsAbove } from './tasks.store.js';

interface TakenOver {
  id: string;
  chat_id: string;
  number: string;
  attempt: number;
}

const STOPPED_CALL = 'Stopped before it had finished; it may have taken effect in part.';
/** Of the output of a call that was stopped, the last characters. */
const MOST_KEPT = 30_000;
const PLANNED_CALL = 'Not run: the run was stopped.';

/**
 * Ends runs on demand. The end is written at once, as a newer attempt: the worker that has the run loses its hold, kills
 * what it runs for it and can write no more. So a run stops also when its worker is dead or stuck.
 */
@Injectable()
export class RunStopper implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly runs: RunsStore,
    private readonly approvals: ApprovalsStore,
    private readonly topics: Topics,
    private readonly features: FeatureEnds,
  ) {}

  /** The runs of a workspace end when its agents are turned off: those in flight, those that wait, and their tasks. */
  onModuleInit(): void {
    this.features.add('agents', async workspaceId => {
      for (const { chat_id, ids } of await this.runs.pendingIn(workspaceId)) await this.stop(chat_id, ids);
    });
  }

  /** Stops those of the runs that have not ended, and lets the chat's next waiting run go; answers which they were. */
  stop(chatId: string, runIds: readonly string[]): Promise<{ stopped: string[] }> {
    return this.database.transaction(async unit => {
      await this.runs.lockChat(unit, chatId);
      const head = await this.runs.headOf(unit, chatId);
      const stopped: string[] = [];
      for (const id of runIds) await holdRunsAbove(unit, id);
      for (const id of runIds) if (await this.end(unit, id)) stopped.push(id);
      if (head && stopped.includes(head)) await this.runs.enqueueNext(unit, chatId);
      return unit.answers({ stopped });
    });
  }

  /** Stops the tasks of a run, and theirs: with the run above them they have lost what they were for. */
  async stopTasks(unit: UnitOfWork, runId: string): Promise<void> {
    const { rows } = await sql<{ id: string }>`
      select id from run where parent_id = ${runId} and status = 'pending' order by number`.execute(
      unit.tables(),
    );
    for (const { id } of rows) await this.end(unit, id);
  }

  /** Ends one run, in a transaction that holds its chat and lets the next one go; says whether it had not ended. */
  async end(unit: UnitOfWork, id: string): Promise<boolean> {
    const run = await this.takeOver(unit, id);
    if (!run) return false;
    const response = await this.saidSoFar(unit, run);
    await this.finish(unit, run, { status: 'completed', stopReason: 'stopped', response }, PLANNED_CALL);
    return true;
  }

  /** As {@link end}, for a run that has failed while nobody carried it. */
  async fail(unit: UnitOfWork, id: string, fault: RunFault): Promise<void> {
    const run = await this.takeOver(unit, id);
    if (run)
      await this.finish(unit, run, { status: 'error', fault, response: null }, `Not run: ${fault.message}.`);
  }

  private async finish(unit: UnitOfWork, run: TakenOver, end: RunEnd, ofPlanned: string): Promise<void> {
    const { id, chat_id: chatId, number, attempt } = run;
    await this.closeCalls(unit, id, ofPlanned);
    const cancelled = await this.approvals.cancelOf(unit, id);
    const journal = new RunJournal(this.database, this.topics, { id, chatId, number, attempt });
    if (cancelled.length > 0) await journal.tell(cancelled.map(approvalResolvedEvent), unit);
    await journal.end(unit, end);
    await this.runs.revokeTokens(unit, id);
    await this.topics.publishOnCommit(unit, holdTopic(id));
    await this.stopTasks(unit, id);
  }

  /** Ends a run that has not begun as withdrawn, and lets the next go if it was its turn; says whether it had not begun. */
  async withdraw(unit: UnitOfWork, id: string): Promise<boolean> {
    const run = await this.runs.find(id, unit);
    if (run?.status !== 'pending' || run.attempt > 0 || run.merged_into) return false;
    const head = await this.runs.headOf(unit, run.chat_id);
    const journal = new RunJournal(this.database, this.topics, {
      id,
      chatId: run.chat_id,
      number: run.number,
      attempt: 0,
    });
    try {
      await journal.end(unit, { status: 'completed', stopReason: 'withdrawn', response: '' });
    } catch (error) {
      // A worker has taken it up since we looked.
      if (error instanceof RunLost) return false;
      throw error;
    }
    if (head === id) await this.runs.enqueueNext(unit, run.chat_id);
    return true;
  }

  private async takeOver(unit: UnitOfWork, id: string): Promise<TakenOver | undefined> {
    const { rows } = await sql<TakenOver>`
      update run set attempt = attempt + 1, ${transition('cancel').set}, due = false, holder = null
      where id = ${id} and status = 'pending' and merged_into is null
      returning id, chat_id, number, attempt`.execute(unit.tables());
    return rows[0];
  }

  /** The text of the step that was cut off, which is kept as part of the conversation; else what the last step said. */
  async saidSoFar(unit: UnitOfWork, { id, chat_id, number }: Omit<TakenOver, 'attempt'>): Promise<string> {
    const { rows: cut } = await sql<{ text: string | null }>`
      select string_agg(data ->> 'text', '' order by id) as text from run_event
      where run_id = ${id} and type = 'text.delta' and id > coalesce(
        (select max(id) from run_event where run_id = ${id} and type in ('step.finished', 'step.restarted')), 0)`.execute(
      unit.tables(),
    );
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
  private async closeCalls(unit: UnitOfWork, runId: string, ofPlanned: string): Promise<void> {
    await sql`
      update tool_call c set is_error = true, finished_at = now(), state = 'finished',
        output = case c.state when 'started' then coalesce((
          select case when length(text) > ${MOST_KEPT} then '…' else '' end || right(text, ${MOST_KEPT}) || E'\n\n' from (
            select string_agg(e.data ->> 'text', '' order by e.id) as text from run_event e
            where e.run_id = ${runId} and e.type = 'tool.output' and e.data ->> 'id' = c.call_id and e.id > (
              select max(b.id) from run_event b
              where b.run_id = ${runId} and b.type = 'tool.started' and b.data ->> 'id' = c.call_id)) given), '')
          || ${STOPPED_CALL} else ${ofPlanned} end
      where c.run_id = ${runId} and c.state <> 'finished'`.execute(unit.tables());
  }
}
