import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { type Actor, type Effect, SharedLookups } from '../../platform/access/index.js';
import type { Verdict } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, dryRun } from '../../platform/database/index.js';
import { defineTopic, Topics } from '../../platform/topics/index.js';
import { DuplicateService } from '../../workspaces/duplicate/index.js';

/** What becomes of a call that would expose something: it is never made unasked. */
export const EXPOSE_VERDICTS = ['ask', 'deny'] as const satisfies readonly Verdict[];
export type ExposeVerdict = (typeof EXPOSE_VERDICTS)[number];

/** What the agents of a workspace may do by themselves, by the effect of what they call. */
export type ApprovalPolicy = Readonly<Record<Exclude<Effect, 'expose'>, Verdict>> & {
  readonly expose: ExposeVerdict;
  /** How long a question stands. */
  readonly deadline_seconds: number;
  /** No policy is set: then what an agent's own file names in full is done without asking. */
  readonly is_default: boolean;
};

export const DEFAULT_POLICY: ApprovalPolicy = {
  read: 'auto',
  write: 'auto',
  destructive: 'ask',
  expose: 'ask',
  deadline_seconds: 3600,
  is_default: true,
};

/** Workspaces whose policy a process remembers. */
const MAX_KNOWN = 1000;

/** Keeps the policies of workspaces. */
@Injectable()
export class ApprovalPolicies implements OnModuleInit {
  private readonly lookups = new SharedLookups<ApprovalPolicy>();
  /** What runs read, which holds until a policy is set. */
  private readonly known = new LRUCache<string, { policy: ApprovalPolicy; mark: number }>({ max: MAX_KNOWN });

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly duplicates: DuplicateService,
    private readonly audit: Audit,
  ) {}

  onModuleInit(): void {
    this.duplicates.inheritWith(async (unit, from, to) => {
      await sql`
        insert into approval_policy
          (workspace_id, read, write, destructive, expose, deadline_seconds, updated_by, updated_at)
        select ${to.id}, read, write, destructive, expose, deadline_seconds, updated_by, now() from approval_policy
        where workspace_id = ${from}`.execute(unit.tables());
    });
  }

  of(workspaceId: string): Promise<ApprovalPolicy> {
    return this.lookups.get(workspaceId, () => this.read(workspaceId));
  }

  /** The policy, kept up to date until it is closed. */
  watch(workspaceId: string): PolicyWatch {
    return new PolicyWatch(this.topics, workspaceId, DEFAULT_POLICY, id => this.newest(id));
  }

  /** The policy as it was last read, where this process knows that none has been set since. */
  private async newest(workspaceId: string): Promise<ApprovalPolicy> {
    const mark = this.topics.mark(policyTopic);
    const known = this.known.get(workspaceId);
    if (known && known.mark === mark) return known.policy;
    const policy = await this.read(workspaceId);
    if (mark === undefined || dryRun()) return policy;
    this.known.set(workspaceId, { policy, mark });
    return policy;
  }

  /** What is left out stays as it is. Runs in flight keep to it from their next call on. */
  async set(
    actor: Actor,
    { id, organization_id }: { id: string; organization_id: string },
    changes: Partial<ApprovalPolicy>,
  ): Promise<void> {
    const { read, write, destructive, expose, deadline_seconds } = { ...DEFAULT_POLICY, ...changes };
    await this.database.transaction(async unit => {
      await sql`
        insert into approval_policy as p
          (workspace_id, read, write, destructive, expose, deadline_seconds, updated_by, updated_at)
        values (${id}, ${read}, ${write}, ${destructive}, ${expose}, ${deadline_seconds}, ${actor.id}, now())
        on conflict (workspace_id) do update set
          read = coalesce(${changes.read ?? null}::text, p.read), write = coalesce(${changes.write ?? null}::text, p.write),
          destructive = coalesce(${changes.destructive ?? null}::text, p.destructive),
          expose = coalesce(${changes.expose ?? null}::text, p.expose),
          deadline_seconds = coalesce(${changes.deadline_seconds ?? null}::int, p.deadline_seconds),
          updated_by = excluded.updated_by, updated_at = now()`.execute(unit.tables());
      const target = { type: 'workspace', id, organization_id, workspace_id: id };
      await this.audit.record(unit, actor, 'approval_policy.update', target, { ...changes });
    });
    // What a trigger publishes comes here a moment later; runs of this process keep to the policy at once.
    this.topics.publish(policyTopic(id));
  }

  private async read(workspaceId: string): Promise<ApprovalPolicy> {
    const { rows } = await sql<Omit<ApprovalPolicy, 'is_default'>>`
      select read, write, destructive, expose, deadline_seconds from approval_policy where workspace_id = ${workspaceId}`.execute(
      this.database.tables(),
    );
    return rows[0] ? { ...rows[0], is_default: false } : DEFAULT_POLICY;
  }
}

/** The topic that is signalled when the policy of a workspace has changed. */
export const policyTopic = defineTopic('approval-policy');

/** The policy of a workspace for a while: read once, and again after each change. */
export class PolicyWatch {
  private reading: Promise<void>;
  private readonly unsubscribe: () => void;

  constructor(
    topics: Topics,
    workspaceId: string,
    private known: ApprovalPolicy,
    private readonly read: (workspaceId: string) => Promise<ApprovalPolicy>,
  ) {
    this.unsubscribe = topics.subscribe(policyTopic(workspaceId), () => {
      this.reading = this.look(workspaceId);
    });
    this.reading = this.look(workspaceId);
  }

  /** As it was last read. */
  get latest(): ApprovalPolicy {
    return this.known;
  }

  /** As it stands after every change that was published; throws where it cannot be read. */
  async now(): Promise<ApprovalPolicy> {
    for (let awaited: Promise<void> | undefined; awaited !== this.reading; ) {
      awaited = this.reading;
      await awaited;
    }
    return this.known;
  }

  close(): void {
    this.unsubscribe();
  }

  private look(workspaceId: string): Promise<void> {
    const reading = this.read(workspaceId).then(policy => {
      this.known = policy;
    });
    // `now` throws a failure; without a caller it does not matter.
    reading.catch(() => undefined);
    return reading;
  }
}
