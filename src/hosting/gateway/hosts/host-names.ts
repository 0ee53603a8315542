import { Injectable } from '@nestjs/common';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import { defineEvent, Events } from '../../../platform/events/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { HostNamesStore } from './host-names.store.js';
import { hostsTopic } from './host-table.js';
import { type HostedKind, HostingDomain } from './hosting-domain.js';
import { requireSlug } from './slugs.js';

const DAY_MS = 24 * 3_600_000;

/** A site or server was deleted. */
export const targetReleased = defineEvent<{ kind: HostedKind; id: string }>('hosting.target_released');

export interface HostClaim {
  readonly kind: HostedKind;
  readonly targetId: string;
  readonly workspaceId: string;
  readonly slug: string;
}

@Injectable()
export class HostNames {
  constructor(
    private readonly domain: HostingDomain,
    private readonly names: HostNamesStore,
    private readonly topics: Topics,
    private readonly events: Events,
  ) {}

  /** 409 without a domain for hosts. */
  requireUsable(): void {
    this.domain.requireUsable();
  }

  /** 422 for an invalid slug, 409 for one that is taken or reserved. */
  async claim(unit: UnitOfWork, claim: HostClaim): Promise<void> {
    this.requireUsable();
    requireSlug(claim.slug);
    if (!(await this.names.claimSlug(unit, claim.slug, claim)))
      throw new Conflict(`The slug ${claim.slug} is taken; choose another one`);
    await this.changed(unit);
  }

  /** As {@link claim}; the previous slug stays reserved for its workspace. */
  async rename(unit: UnitOfWork, claim: HostClaim): Promise<void> {
    await this.claim(unit, claim);
    await this.names.releaseSlugs(unit, claim.kind, claim.targetId, claim.slug);
  }

  async release(unit: UnitOfWork, kind: HostedKind, targetId: string): Promise<void> {
    await this.names.releaseSlugs(unit, kind, targetId);
    await this.names.removeCustom(unit, kind, targetId);
    await this.events.publish(unit, targetReleased, { kind, id: targetId });
    await this.changed(unit);
  }

  /** Call when a target is renamed or deleted: all processes read hosts again. */
  async changed(unit: UnitOfWork): Promise<void> {
    await this.topics.publishWithCommit(unit, hostsTopic());
  }

  /** Null without a domain. */
  urlOf(kind: HostedKind, slug: string): string | null {
    const host = this.domain.hostOf(kind, slug);
    return host === null ? null : this.domain.originOf(host);
  }

  versionUrlOf(slug: string, version: number): string | null {
    const host = this.domain.hostOf('site', slug, version);
    return host === null ? null : this.domain.originOf(host);
  }

  @Chore('hosting_host_names', { everyMs: DAY_MS })
  async forgetOld(): Promise<void> {
    await this.names.releaseOrphans();
    await this.names.forgetReleased();
  }
}
