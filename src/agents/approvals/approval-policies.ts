import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Actor } from '../../platform/access/actor.js';
import { SharedLookups } from '../../platform/access/shared-lookups.js';
import type { Effect } from '../../platform/actions/action.js';
import { Database } from '../../platform/database/database.js';
import { Signals } from '../../platform/signals/signals.js';
import { PolicyWatch, policyTopic } from './policy-watch.js';

/** What becomes of a call: it is made, somebody is asked, or it is refused. */
export const VERDICTS = ['auto', 'ask', 'deny'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** What the agents of a workspace may do by themselves, by the effect of what they call. */
export type ApprovalPolicy = Readonly<Record<Effect, Verdict>> & {
  /** How long a question stands. */
  readonly deadline_seconds: number;
  /** Nobody has set one: then what an agent's own file names in full is done without asking. */
  readonly is_default: boolean;
};

export const DEFAULT_POLICY: ApprovalPolicy = {
  read: 'auto',
  write: 'auto',
  destructive: 'ask',
  deadline_seconds: 3600,
  is_default: true,
};

/** Keeps the policies of workspaces. */
@Injectable()
export class ApprovalPolicies {
  private readonly lookups = new SharedLookups<ApprovalPolicy>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Signals) private readonly signals: Signals,
  ) {}

  of(workspaceId: string): Promise<ApprovalPolicy> {
    return this.lookups.get(workspaceId, () => this.read(workspaceId));
  }

  /** The policy for somebody who goes by it until they close this. */
  watch(workspaceId: string): PolicyWatch {
    return new PolicyWatch(this.signals, workspaceId, DEFAULT_POLICY, id => this.of(id));
  }

  /** What is left out stays as it is. Runs in flight keep to it from their next call on. */
  async set(actor: Actor, workspaceId: string, changes: Partial<ApprovalPolicy>): Promise<void> {
    const { read, write, destructive, deadline_seconds } = { ...DEFAULT_POLICY, ...changes };
    await sql`
      insert into approval_policy as p (workspace_id, read, write, destructive, deadline_seconds, updated_by, updated_at)
      values (${workspaceId}, ${read}, ${write}, ${destructive}, ${deadline_seconds}, ${actor.id}, now())
      on conflict (workspace_id) do update set
        read = coalesce(${changes.read ?? null}::text, p.read), write = coalesce(${changes.write ?? null}::text, p.write),
        destructive = coalesce(${changes.destructive ?? null}::text, p.destructive),
        deadline_seconds = coalesce(${changes.deadline_seconds ?? null}::int, p.deadline_seconds),
        updated_by = excluded.updated_by, updated_at = now()`.execute(this.database.tables());
    this.signals.tell(policyTopic(workspaceId));
  }

  private async read(workspaceId: string): Promise<ApprovalPolicy> {
    const { rows } = await sql<Omit<ApprovalPolicy, 'is_default'>>`
      select read, write, destructive, deadline_seconds from approval_policy where workspace_id = ${workspaceId}`.execute(
      this.database.tables(),
    );
    return rows[0] ? { ...rows[0], is_default: false } : DEFAULT_POLICY;
  }
}
