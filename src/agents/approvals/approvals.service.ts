import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { type Actor, requireScope, type WorkspacePermission } from '../../platform/access/index.js';
import { Action, Subject } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, iso, isoOrNull, type UnitOfWork } from '../../platform/database/index.js';
import type { Page } from '../../platform/dto/index.js';
import { ById } from '../../platform/dto/index.js';
import { Conflict, Invalid, NotFound } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { DueTimers } from '../../platform/schedule/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { ChatsStore } from '../chats/index.js';
import { type ApprovalRow, recordDecision } from './approval.js';
import { ApprovalAccess, requirePerson, requireSignIn } from './approval-access.js';
import { ApprovalWording } from './approval-wording.js';
import { ApprovalPage, ApprovalView, DecideApproval, ListApprovals } from './approvals.dto.js';
import {
  approvalAsked,
  approvalExpired,
  approvalReminded,
  approvalResolved,
  approvalResolving,
} from './approvals.events.js';
import { ApprovalsStore, type Resolution } from './approvals.store.js';

/** What people are asked, and what they decide. */
@Injectable()
export class ApprovalsService {
  constructor(
    private readonly database: Database,
    private readonly approvals: ApprovalsStore,
    private readonly chats: ChatsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly events: Events,
    private readonly access: ApprovalAccess,
    private readonly wording: ApprovalWording,
    private readonly audit: Audit,
  ) {}

  @Action('approval_list', 'GET /api/agent/approvals', {
    on: { chat_id: 'chat', workspace_id: 'workspace' },
    summary: 'List what people are asked to approve, newest first',
    permission: 'approval.read',
    input: ListApprovals,
    output: ApprovalPage,
  })
  async list(actor: Actor, { limit, cursor, ...filter }: ListApprovals): Promise<Page<ApprovalView>> {
    requireScope(actor, 'approval.read');
    if (filter.chat_id) await this.chats.require(actor, 'approval.read', filter.chat_id);
    if (filter.workspace_id) await this.workspaces.require(actor, 'approval.read', filter.workspace_id);
    const isOwn = !filter.chat_id && !filter.workspace_id;
    const { organization_id, workspace_ids } = actor.credential;
    const own = isOwn ? { requested_by: actor.id, organization_id, workspace_ids } : {};
    return this.approvals.list({ ...filter, ...own, actor }, { limit, cursor }, row => this.view(row));
  }

  @Action('approval_get', 'GET /api/agent/approvals/:approvalId', {
    on: 'approval_id',
    summary: 'Read what is to be approved',
    permission: 'approval.read',
    input: ById({ approval_id: 'The approval' }),
    output: ApprovalView,
  })
  async read(actor: Actor, { approval_id }: ById<'approval_id'>): Promise<ApprovalView> {
    return this.view(await this.require(actor, 'approval.read', approval_id));
  }

  @Action('approval_decide', 'POST /api/agent/approvals/:approvalId', {
    on: 'approval_id',
    summary: 'Allow or deny a call that waits for it; whatever waited goes on',
    consequence: 'An allowed call is made, with all that it does.',
    permission: 'approval.decide',
    personOnly: true,
    input: DecideApproval,
    output: ApprovalView,
    commitsAnswer: true,
    refuses: { 409: 'It was decided already, its time is over, or its run has ended' },
  })
  async decide(actor: Actor, { approval_id, decision, scope, note }: DecideApproval): Promise<ApprovalView> {
    const row = await this.require(actor, 'approval.decide', approval_id);
    if (row.subject_kind === 'mcp_call') requireSignIn(actor, 'decide about the call of a client');
    requirePerson(actor, 'decide about an approval');
    if (row.effect === 'expose' && scope === 'run')
      throw new Invalid(
        `scope must be once: ${row.tool} exposes something, which is allowed one call at a time`,
      );
    const resolved = await this.settle(actor, row, { decision, scope, note });
    if (!resolved) throw new Conflict('It was decided already, its time is over, or its run has ended');
    return resolved;
  }

  /** Writes down the decision of a person who may decide; undefined where it was resolved already, or has expired. */
  settle(
    actor: Actor,
    row: ApprovalRow,
    { decision, scope = 'once', note }: Pick<DecideApproval, 'decision' | 'scope' | 'note'>,
  ): Promise<ApprovalView | undefined> {
    const resolution: Resolution =
      decision === 'allow'
        ? { status: 'allowed', scope, note, by: actor.id }
        : { status: 'denied', note, by: actor.id };
    return this.resolve(row, resolution, unit => recordDecision(this.audit, unit, actor, row, decision));
  }

  /** No decision was made in time. */
  async expire(id: string): Promise<void> {
    const row = await this.approvals.find(id);
    if (!row) return;
    await this.resolve(row, { status: 'expired', by: null }, unit =>
      this.events.publish(unit, approvalExpired, { approval_id: id }),
    );
  }

  /** Answers with what it is now; undefined where it was resolved already. */
  private resolve(
    row: ApprovalRow,
    resolution: Resolution,
    also?: (unit: UnitOfWork) => Promise<void>,
  ): Promise<ApprovalView | undefined> {
    return this.database.transaction(async unit => {
      await this.approvals.lockChat(unit, row);
      await this.events.publish(unit, approvalResolving, { run_id: row.run_id });
      if (!(await this.approvals.resolve(unit, row.id, resolution))) return undefined;
      await also?.(unit);
      await this.events.publish(unit, approvalResolved, { approval_id: row.id });
      const resolved = await this.approvals.find(row.id, unit);
      return resolved && unit.answers(this.view(resolved));
    });
  }

  private view(row: ApprovalRow): ApprovalView {
    const { id, status, workspace_id, chat_id, tool, effect, requested_by, scope, note, decided_by } = row;
    const { summary, consequence } = this.wording.of(tool);
    const kept = { id, status, workspace_id, chat_id, tool, effect, requested_by, scope, note, decided_by };
    return {
      ...kept,
      subject: row.subject_kind,
      call_id: row.run_id,
      tool_call_id: row.call_id,
      summary,
      consequence,
      input: this.wording.inputOf(row),
      deciders: this.wording.decidersOf(row),
      link: this.wording.linkTo(id),
      decided_at: isoOrNull(row.decided_at),
      expires_at: iso(row.expires_at),
      created_at: iso(row.created_at),
    };
  }

  @Subject('approval', 'workspace', ({ organization_id, workspace_id }: ApprovalRow) => ({
    organization_id,
    workspace_id,
  }))
  private async require(actor: Actor, permission: WorkspacePermission, id: string): Promise<ApprovalRow> {
    const row = await this.approvals.find(id);
    if (!row) throw new NotFound('No such approval');
    await this.access.require(actor, permission, row);
    return row;
  }
}

const AT_ONCE = 100;

/** Reminds people of approvals that are not decided yet, and expires those that were not decided in time. */
@Injectable()
export class ApprovalDeadlines implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly events: Events,
    private readonly timers: DueTimers,
    private readonly store: ApprovalsStore,
    private readonly approvals: ApprovalsService,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      topic: approvalAsked,
      take: async () => (await this.remind()) + (await this.expire()),
      next: () => this.store.untilNextDeadline(),
      failure: 'cannot end overdue approvals; trying again',
    });
  }

  private remind(): Promise<number> {
    return this.database.transaction(async unit => {
      const due = await this.store.takeReminders(unit, AT_ONCE);
      for (const { id: approval_id, reminder } of due)
        await this.events.publish(unit, approvalReminded, { approval_id, reminder });
      return due.length;
    });
  }

  private async expire(): Promise<number> {
    const ids = await this.store.overdue(AT_ONCE);
    for (const id of ids) await this.approvals.expire(id);
    return ids.length;
  }
}
