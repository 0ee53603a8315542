import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import type { UnitOfWork } from '../../platform/database/index.js';
import { Events } from '../../platform/events/index.js';
import { type ApprovalRow, ApprovalsStore, approvalResolved, approvalResolving } from '../approvals/index.js';
import { approvalResolvedEvent } from './run-event.js';
import { tellRun } from './run-receipts.js';
import { transition } from './run-state.js';
import { RunStopper } from './run-stopper.js';
import { RunsStore } from './runs.store.js';
import { holdRunsAbove } from './tasks.store.js';

/** What runs that wait for approvals do when those are resolved. All of it happens while their chat is held. */
@Injectable()
export class RunApprovals implements OnModuleInit {
  constructor(
    private readonly events: Events,
    private readonly approvals: ApprovalsStore,
    private readonly runs: RunsStore,
    private readonly stopper: RunStopper,
  ) {}

  onModuleInit(): void {
    this.events.on(approvalResolving, async (unit, { run_id }) => {
      if (run_id) await holdRunsAbove(unit, run_id);
    });
    this.events.on(approvalResolved, (unit, { approval_id }) => this.resolved(unit, approval_id));
  }

  /** Somebody speaks up instead of deciding: nothing is to be decided any more, and the run goes on with what they say. */
  async giveWay(unit: UnitOfWork, runId: string): Promise<void> {
    await this.tell(unit, runId, await this.approvals.cancelOf(unit, runId));
    await this.goOn(unit, runId);
  }

  /** As {@link giveWay}, for whatever tasks of a run wait, which keep it from going on. */
  async giveWayBelow(unit: UnitOfWork, runId: string): Promise<void> {
    const { rows } = await sql<{ id: string }>`
      with recursive below as (
        select id, state from run where parent_id = ${runId} and status = 'pending'
        union all
        select r.id, r.state from run r join below b on r.parent_id = b.id where r.status = 'pending'
      )
      select id from below where state = 'waiting'`.execute(unit.tables());
    for (const { id } of rows) await this.giveWay(unit, id);
  }

  private async resolved(unit: UnitOfWork, id: string): Promise<void> {
    const row = await this.approvals.find(id, unit);
    if (!row?.run_id || !row.chat_id) return;
    const { run_id: runId, chat_id: chatId, tool } = row;
    const others = row.scope === 'run' ? await this.approvals.allowOthers(unit, row) : [];
    await this.tell(unit, runId, [row, ...others]);
    if (row.status !== 'expired') return this.goOn(unit, runId);
    const text = `Nobody approved the call of ${tool} in time, so it was not made`;
    const fault = { type: 'approval_expired', message: text };
    await this.stopper.fail(unit, runId, fault);
    await this.runs.enqueueNext(unit, chatId);
  }

  private async tell(unit: UnitOfWork, runId: string, rows: ApprovalRow[]): Promise<void> {
    if (rows.length > 0) await tellRun(unit.tables(), runId, rows.map(approvalResolvedEvent));
  }

  /** Lets a run go on of whose calls none is to be decided any more. The time that it waited is not its own. */
  private async goOn(unit: UnitOfWork, runId: string): Promise<void> {
    const { rows } = await sql`
      update run set ${transition('resume').set}, waited_ms = waited_ms + extract(epoch from now() - waiting_since) * 1000, waiting_since = null
      where id = ${runId} and status = 'pending' and ${transition('resume').from}
        and not exists (select 1 from approval a where a.run_id = run.id and a.status = 'pending')
      returning id`.execute(unit.tables());
    if (rows.length > 0) await this.runs.enqueue(unit, runId);
  }
}
