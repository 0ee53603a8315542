import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { UnitOfWork } from '../../platform/database/index.js';
import { notifyTopic } from '../../platform/topics/index.js';
import { messageInjected } from './run-event.js';
import type { RunJournal } from './run-journal.js';
import { runTopic, transition } from './run-state.js';

interface Waiting {
  call_id: string;
  message_id: string;
}

/** Messages that are to enter a run in flight. All of this happens while the chat is held. */
@Injectable()
export class SteersStore {
  /** Makes the run of a waiting message one whose message is to enter `runId`. */
  async aim(unit: UnitOfWork, id: string, runId: string): Promise<void> {
    await sql`update run set delivery = 'steer', steers_run_id = ${runId} where id = ${id}`.execute(
      unit.tables(),
    );
  }

  /** Counts anew how many messages wait to enter a run. */
  async recount(unit: UnitOfWork, runId: string): Promise<void> {
    await sql`
      update run h set steers = (
        select count(*) from run s
        where s.chat_id = h.chat_id and s.status = 'pending' and s.steers_run_id = h.id and s.merged_into is null)
      where h.id = ${runId} and h.status = 'pending'`.execute(unit.tables());
  }

  /**
   * Takes the messages that wait into the run, before step `step`: they follow what was said so far, and their own runs end
   * with this one. Returns how many there were; throws RunLost where the run is not the journal's any more.
   */
  async takeIn(unit: UnitOfWork, journal: RunJournal, step: number): Promise<number> {
    const { id: runId, chatId, number } = journal.run;
    const { rows } = await sql<Waiting>`
      select r.id as call_id, m.id as message_id from run r join message m on m.run_id = r.id and m.role = 'user'
      where r.chat_id = ${chatId} and r.status = 'pending' and r.steers_run_id = ${runId} and r.merged_into is null
      order by r.number`.execute(unit.tables());
    for (const { call_id, message_id } of rows) {
      await sql`
        update message set run_id = ${runId}, run_number = ${number}::bigint, number = default where id = ${message_id}`.execute(
        unit.tables(),
      );
      await this.merge(unit, { call_id, message_id }, runId, step);
    }
    await journal.takeIn(
      rows.map(row => messageInjected({ ...row, into_call_id: runId, step })),
      unit,
    );
    return rows.length;
  }

  /** What it costs is entered with the run that took it in. */
  private async merge(unit: UnitOfWork, waiting: Waiting, runId: string, step: number): Promise<void> {
    const { type, data } = messageInjected({ ...waiting, into_call_id: runId, step });
    await sql`
      with merged as (
        update run set merged_into = ${runId}, merged_step = ${step}, ${transition('merge').set}, started_at = now(), cost_usd = 0,
          last_event = last_event + 1
        where id = ${waiting.call_id} returning id, last_event
      ), told as (
        insert into run_event (run_id, id, type, data, created_at)
        select id, last_event, ${type}, ${JSON.stringify(data)}::jsonb, now() from merged
      )
      select ${notifyTopic(runTopic.sql(sql`id`))} from merged`.execute(unit.tables());
  }
}
