import { Inject, Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/actor.js';
import type { Effect } from '../../platform/actions/action.js';
import type { Row } from '../../platform/database/rows.js';
import { Conflict, NotFound } from '../../platform/http/problem.js';
import { Signals } from '../../platform/signals/signals.js';
import { WakeUp } from '../../platform/signals/wake-up.js';
import type { Approval } from './approval.entity.js';
import { approvalTopic } from './approvals.events.js';
import { ApprovalsStore } from './approvals.store.js';

const DEFAULT_SECONDS = 3600;

/** A call that its caller may make only after a person has looked at it. */
export interface CallToApprove {
  readonly actor: Actor;
  readonly organizationId: string | null;
  /** Where it takes place: who may decide is an editor there; null: the caller alone. */
  readonly workspaceId: string | null;
  /** The action or tool. */
  readonly tool: string;
  readonly effect: Effect;
  readonly input: unknown;
  /** How long the question stands; absent: an hour. */
  readonly seconds?: number;
}

/**
 * Asks people about calls that come from outside an agent's run, such as an MCP client's: `request` gives the question an
 * id to make a link of, a person decides (`POST /api/agent/approvals/{id}`), and `use` lets the same call through, once.
 */
@Injectable()
export class ApprovalRequests {
  constructor(
    @Inject(ApprovalsStore) private readonly approvals: ApprovalsStore,
    @Inject(Signals) private readonly signals: Signals,
  ) {}

  request(call: CallToApprove): Promise<Row<Approval>> {
    return this.approvals.addMcpCall({ ...fieldsOf(call), seconds: call.seconds ?? DEFAULT_SECONDS });
  }

  /** How it stands, as soon as it is resolved, or when `limit` is aborted. Only for who asked. */
  async awaitDecision(actor: Actor, id: string, limit: AbortSignal): Promise<Row<Approval>> {
    const wakeUp = new WakeUp(this.signals, approvalTopic(id));
    try {
      for (;;) {
        const row = await this.approvals.find(id);
        if (row?.requested_by !== actor.id) throw new NotFound('No such approval');
        if (row.status !== 'pending' || limit.aborted) return row;
        await wakeUp.wait(limit);
      }
    } finally {
      wakeUp.close();
    }
  }

  /** Lets the call be made that was allowed: throws Conflict for another one, for one not allowed, and the second time. */
  async use(id: string, call: CallToApprove): Promise<void> {
    if (!(await this.approvals.use(id, fieldsOf(call))))
      throw new Conflict(
        'This approval does not stand for this call: it is not allowed, or was used already',
      );
  }
}

function fieldsOf({ actor, organizationId, workspaceId, tool, effect, input }: CallToApprove) {
  return {
    organization_id: organizationId,
    workspace_id: workspaceId,
    tool,
    effect,
    input,
    requested_by: actor.id,
  };
}
