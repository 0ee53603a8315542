import { Injectable } from '@nestjs/common';
import type { Actor, Effect } from '../../platform/access/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { Conflict, NotFound } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { Subscription, Topics } from '../../platform/topics/index.js';
import { type ApprovalRow, recordDecision } from './approval.js';
import { approvalAsked, approvalOpened, approvalResolved, approvalTopic } from './approvals.events.js';
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
  /** What to call the program that makes the call. */
  readonly clientName: string;
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
    private readonly database: Database,
    private readonly approvals: ApprovalsStore,
    private readonly events: Events,
    private readonly topics: Topics,
    private readonly audit: Audit,
  ) {}

  /** The question about this call: the one that is open, else a new one. */
  request(call: CallToApprove): Promise<ApprovalRow> {
    const asked = { ...fieldsOf(call), seconds: call.seconds ?? DEFAULT_SECONDS };
    return this.database.transaction(async unit => {
      this.topics.publishAfterCommit(unit, approvalAsked);
      const row = await this.approvals.forMcpCall(unit, asked);
      await this.events.publish(unit, approvalOpened, { approval_id: row.id });
      return row;
    });
  }

  /** A question about a call from outside; callers check who may see it. */
  async find(id: string): Promise<ApprovalRow | undefined> {
    const row = await this.approvals.find(id);
    return row?.subject_kind === 'mcp_call' ? row : undefined;
  }

  /** Writes down what a person said, the first time only; says whether it was. */
  resolve(id: string, status: 'allowed' | 'denied', by: Actor): Promise<boolean> {
    return this.database.transaction(async unit => {
      const row = await this.approvals.find(id, unit);
      const resolution = { status, scope: 'once', by: by.id } as const;
      if (!row || !(await this.approvals.resolve(unit, id, resolution))) return false;
      await recordDecision(this.audit, unit, by, row, status === 'allowed' ? 'allow' : 'deny');
      await this.events.publish(unit, approvalResolved, { approval_id: id });
      return true;
    });
  }

  /** How it stands, as soon as it is resolved, or when `limit` is aborted. Only for who asked. */
  async awaitDecision(actor: Actor, id: string, limit: AbortSignal): Promise<ApprovalRow> {
    const wakeUp = new Subscription(this.topics, approvalTopic(id));
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

  /** The caller learned that it is denied: the same call asks a person again. */
  async toldDenied(id: string): Promise<void> {
    await this.approvals.closeDenied(id);
  }

  /** Lets the call be made that was allowed: throws Conflict for another one, for one not allowed, and the second time. */
  async use(id: string, call: CallToApprove): Promise<void> {
    if (!(await this.approvals.use(id, fieldsOf(call))))
      throw new Conflict(
        'This approval does not stand for this call: it is not allowed, or was used already',
      );
  }
}

function fieldsOf(call: CallToApprove) {
  const { actor, organizationId, workspaceId, tool, effect, input, clientName } = call;
  return {
    organization_id: organizationId,
    workspace_id: workspaceId,
    tool,
    effect,
    input,
    requested_by: actor.id,
    client_name: clientName,
    credential_id: actor.credential.id,
  };
}
