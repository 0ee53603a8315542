import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { sitePromoted, siteVersionBuilt, siteVersionFailed } from '../../../hosting/sites/index.js';
import { type Notice, Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

const MAX_REASON = 500;

type Version = NonNullable<Awaited<ReturnType<SourcesStore['siteVersion']>>>;

/** What becomes of versions of sites. Who asked for one is notified, and who made the site of what goes live there. */
@Injectable()
export class SitesSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(siteVersionFailed, 'site.version_failed', async ({ version_id }) => {
      const version = await this.store.siteVersion(version_id);
      if (version?.state !== 'failed') return undefined;
      return {
        ...about(version, version.id, [version.created_by]),
        title: `Version ${version.number} of ${nameOf(version)} could not be built`,
        body: `${shortName(version.error ?? '', MAX_REASON)} What is live stays as it is.`,
      };
    });
    this.notifier.on(siteVersionBuilt, 'site.version_ready', async ({ version_id }) => {
      const version = await this.store.siteVersion(version_id);
      if (version?.state !== 'built' || version.promotion === 'done') return undefined;
      return {
        ...about(version, version.id, [version.created_by]),
        title: `Version ${version.number} of ${nameOf(version)} is built`,
        body: `It is not live. ${version.promotion_reason ?? 'Look at it on its own host, then promote it.'}`,
      };
    });
    this.notifier.settledBy(sitePromoted, 'site.version_ready', ({ version_id }) => version_id);
    this.notifier.on(sitePromoted, 'site.promoted', async ({ id, version_id, by }) => {
      const version = await this.store.siteVersion(version_id);
      if (!version) return undefined;
      const people = new Set([version.owner, version.created_by]);
      // They know.
      if (by !== null) people.delete(by);
      return {
        ...about(version, id, [...people]),
        title: `Version ${version.number} of ${nameOf(version)} went live`,
        body: by === null ? 'It went live as soon as it was built.' : 'Somebody promoted it.',
      };
    });
  }
}

const nameOf = ({ name }: Version): string => `“${shortName(name)}”`;

const about = (version: Version, id: string, people: string[]): Omit<Notice, 'title' | 'body'> => ({
  audience: { people },
  organization_id: version.organization_id,
  workspace_id: version.workspace_id,
  about: id,
  data: { site_id: version.site_id, version_id: version.id },
  chain: version.chain ?? undefined,
});
