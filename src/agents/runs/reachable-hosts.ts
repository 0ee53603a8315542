import { Injectable } from '@nestjs/common';
import { TopicCache, Topics } from '../../platform/topics/index.js';
import { EgressStore, egressTopic } from '../../workspaces/egress/index.js';

/** The hosts that the sandboxes of workspaces reach, as runs are told of them. */
@Injectable()
export class ReachableHosts {
  private readonly hosts: TopicCache<readonly string[]>;

  constructor(
    private readonly egress: EgressStore,
    topics: Topics,
  ) {
    this.hosts = new TopicCache(topics, [egressTopic], { max: 1_000, ttlMs: 60_000 });
  }

  of(workspaceId: string): Promise<readonly string[]> {
    return this.hosts.get(workspaceId, () => this.egress.reachableFrom(workspaceId));
  }
}
