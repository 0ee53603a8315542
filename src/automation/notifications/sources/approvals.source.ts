import { Injectable, OnModuleInit } from '@nestjs/common';
import {
  type ApprovalRow,
  ApprovalsStore,
  ApprovalWording,
  approvalExpired,
  approvalOpened,
  approvalReminded,
  approvalResolved,
} from '../../../agents/approvals/index.js';
import { iso } from '../../../platform/database/index.js';
import { type Notice, Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

/** Calls that wait for a person. The person they were asked for is notified, as it is their authority that is used. */
@Injectable()
export class ApprovalsSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly approvals: ApprovalsStore,
    private readonly wording: ApprovalWording,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(approvalOpened, 'approval.requested', async ({ approval_id }) => {
      const row = await this.approvals.find(approval_id);
      if (row?.status !== 'pending') return undefined;
      const expires_at = iso(row.expires_at);
      return {
        ...(await this.about(row)),
        title: `${row.client_name ?? 'An agent'} asks to call ${row.tool}`,
        body: `${this.wording.of(row.tool).summary}. It waits for your decision until ${expires_at}.`,
        expires_at,
      };
    });
    this.notifier.settledBy(approvalResolved, 'approval.requested', ({ approval_id }) => approval_id);
    this.notifier.on(approvalReminded, 'approval.reminded', async ({ approval_id, reminder }) => {
      const row = await this.approvals.find(approval_id);
      if (row?.status !== 'pending') return undefined;
      const expires_at = iso(row.expires_at);
      return {
        ...(await this.about(row)),
        about: reminderOf(approval_id, reminder),
        title: `${row.tool} still waits for your decision`,
        body: `${this.wording.of(row.tool).summary}. At ${expires_at} its time is over, and the run fails.`,
        expires_at,
      };
    });
    for (const reminder of [1, 2])
      this.notifier.settledBy(approvalResolved, 'approval.reminded', ({ approval_id }) =>
        reminderOf(approval_id, reminder),
      );
    this.notifier.on(approvalExpired, 'approval.expired', async ({ approval_id }) => {
      const row = await this.approvals.find(approval_id);
      return (
        row && {
          ...(await this.about(row)),
          title: `No one decided about ${row.tool}`,
          body: 'The time for the approval is over, so the call was not made.',
        }
      );
    });
  }

  private async about(row: ApprovalRow): Promise<Omit<Notice, 'title' | 'body'>> {
    const { id, requested_by, organization_id, workspace_id, run_id } = row;
    const run = run_id ? await this.store.run(run_id) : undefined;
    return {
      audience: { people: [requested_by] },
      organization_id,
      workspace_id,
      about: id,
      link: this.wording.linkTo(id),
      data: { approval_id: id, ...(run_id && { run_id }) },
      chain: run?.actor.chain,
    };
  }
}

const reminderOf = (approvalId: string, reminder: number): string => `${approvalId}:${reminder}`;
