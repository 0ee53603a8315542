import { Injectable } from '@nestjs/common';
import { workspaceAccessTopic } from '../../../platform/access/index.js';
import { defineTopic, TopicCache, Topics } from '../../../platform/topics/index.js';
import { HostNamesStore } from './host-names.store.js';
import { type HostedTarget, HostedTargets } from './hosted-targets.js';
import { HostingDomain } from './hosting-domain.js';

/** Host names or their targets have changed. */
export const hostsTopic = defineTopic('hosting-hosts');

export interface HostedHost {
  readonly host: string;
  /** Scheme, host and port, as browsers see them. */
  readonly origin: string;
  readonly target: HostedTarget;
  /** Undefined for the live version. */
  readonly version: number | undefined;
}

const MAX_HOSTS = 10_000;
const TTL_MS = 10 * 60_000;

@Injectable()
export class HostTable {
  private readonly hosts: TopicCache<HostedHost | null>;

  constructor(
    private readonly domain: HostingDomain,
    private readonly names: HostNamesStore,
    private readonly targets: HostedTargets,
    topics: Topics,
  ) {
    this.hosts = new TopicCache(topics, [hostsTopic, workspaceAccessTopic], {
      max: MAX_HOSTS,
      ttlMs: TTL_MS,
    });
  }

  /** Takes a host in lower case without port. Null if it leads nowhere. Synchronous if cached. */
  find(host: string): HostedHost | null | Promise<HostedHost | null> {
    return this.hosts.find(host, () => this.look(host));
  }

  private async look(host: string): Promise<HostedHost | null> {
    const label = this.domain.read(host);
    if (!label && this.domain.holds(host)) return null;
    const named = label
      ? await this.names.targetOfSlug(label.kind, label.slug)
      : await this.names.targetOfHost(host);
    const target = named && (await this.targets.find(named.kind, named.target_id));
    if (!target) return null;
    return { host, origin: this.domain.originOf(host), target, version: label?.version };
  }
}
