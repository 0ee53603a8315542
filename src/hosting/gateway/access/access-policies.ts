import { Injectable, OnModuleInit } from '@nestjs/common';
import { workspaceAccessTopic } from '../../../platform/access/index.js';
import { ExecTokens } from '../../../platform/actions/index.js';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { defineTopic, TopicCache, Topics } from '../../../platform/topics/index.js';
import { targetReleased } from '../hosts/host-names.js';
import { type HostedTarget } from '../hosts/hosted-targets.js';
import type { AccessPolicy } from './access-policy.js';
import { AccessPolicyStore } from './access-policy.store.js';

/** Published by id of a target whose access changed, or of an organization whose limit changed. */
export const hostedAccessTopic = defineTopic('hosted-access');

const MAX_POLICIES = 5_000;
const TTL_MS = 10 * 60_000;

@Injectable()
export class AccessPolicies implements OnModuleInit {
  private readonly policies: TopicCache<AccessPolicy>;

  constructor(
    private readonly store: AccessPolicyStore,
    private readonly execTokens: ExecTokens,
    private readonly events: Events,
    private readonly topics: Topics,
  ) {
    const kinds = [hostedAccessTopic, workspaceAccessTopic];
    this.policies = new TopicCache(topics, kinds, { max: MAX_POLICIES, ttlMs: TTL_MS });
  }

  /** Policies, visits and tokens end with their target. */
  onModuleInit(): void {
    this.events.on(targetReleased, async (unit, { kind, id }) => {
      await this.store.remove(unit, kind, id);
      await this.execTokens.revokeFor(unit, { kind, id });
      await this.changed(unit, id);
    });
  }

  /** Synchronous if cached. */
  find(target: HostedTarget): AccessPolicy | Promise<AccessPolicy> {
    return this.policies.find(`${target.kind} ${target.id}`, () => this.store.find(target));
  }

  /** Call in the transaction that changes access: all processes then check open exchanges again. */
  async changed(unit: UnitOfWork, id: string): Promise<void> {
    await this.topics.publishWithCommit(unit, hostedAccessTopic(id));
  }
}
