import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { DueTimers } from '../../platform/schedule/index.js';
import { approvalAsked } from './approvals.events.js';
import { ApprovalsService } from './approvals.service.js';
import { ApprovalsStore } from './approvals.store.js';

const AT_ONCE = 100;

/** Ends the questions that nobody has decided in time. */
@Injectable()
export class ApprovalDeadlines implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly timers: DueTimers,
    private readonly store: ApprovalsStore,
    private readonly approvals: ApprovalsService,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      topic: approvalAsked,
      take: () => this.expire(),
      next: () => this.store.untilNextDeadline(),
      failure: 'cannot end overdue approvals; trying again',
    });
  }

  private async expire(): Promise<number> {
    const ids = await this.store.overdue(AT_ONCE);
    for (const id of ids) await this.approvals.expire(id);
    return ids.length;
  }
}
