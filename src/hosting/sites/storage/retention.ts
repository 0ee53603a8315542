import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { Log } from '../../../platform/log/index.js';
import { SiteFolders } from '../folders/site-folders.js';
import { SitesStore } from '../records/sites.store.js';
import { Versions } from '../serving/versions.js';
import { OldVersionsStore } from './old-versions.store.js';
import { StoredBytesStore, UNUSED_MS } from './stored-bytes.store.js';

const HOUR_MS = 3_600_000;
/** Sites per pass; the rest follow in the next. */
const MAX_SITES = 1000;

/** Removes old versions, unused blobs, and folders of deleted sites. */
@Injectable()
export class Retention {
  constructor(
    private readonly database: Database,
    private readonly sites: SitesStore,
    private readonly old: OldVersionsStore,
    private readonly stored: StoredBytesStore,
    private readonly versions: Versions,
    private readonly folders: SiteFolders,
    private readonly log: Log,
  ) {}

  @Chore('site_retention', { everyMs: HOUR_MS })
  async run(): Promise<void> {
    for (const id of await this.old.sitesWithOld(MAX_SITES)) await this.purge(id);
    for (const id of await this.stored.dueForSweep(MAX_SITES)) {
      try {
        await this.sweep(id);
      } catch (error) {
        this.log.error({ err: error, site_id: id }, 'files of a site that nothing needs stay for now');
      }
    }
    await this.removeLeftFolders();
  }

  private async purge(siteId: string): Promise<void> {
    await this.database.transaction(async unit => {
      const site = await this.sites.lock(unit, siteId);
      if ((await this.old.purge(unit, site.id)) === 0) return;
      await this.stored.sweepSoon(unit, site.id);
      await this.sites.changed(unit, site.id);
    });
  }

  /** Mark and sweep. Blobs of running builds are new, so they stay; manifests are removed only while no build can begin. */
  private async sweep(siteId: string): Promise<void> {
    const begun = await this.database.transaction(async unit => {
      await this.sites.lock(unit, siteId);
      const mark = await this.stored.beginSweep(unit, siteId);
      if (await this.old.isBuilding(unit, siteId)) return undefined;
      const manifests = await this.old.manifests(unit, siteId);
      await this.folders.keepManifests(siteId, manifests);
      return { mark, manifests };
    });
    if (!begun) return;
    const needed = new Set<string>();
    // One that cannot be read ends the sweep: what it needs is not known.
    for (const hash of begun.manifests)
      for (const file of (await this.versions.manifest(siteId, hash)).files) needed.add(file.hash);
    const blobs = this.folders.blobsOf(siteId);
    const { removed, bytes } = await blobs.sweep(needed, UNUSED_MS);
    await this.stored.endSweep(siteId, begun.mark, await blobs.bytes());
    if (removed > 0)
      this.log.debug({ site_id: siteId, files: removed, bytes }, 'files of a site were removed');
  }

  /** Folders of sites deleted with their workspace, and of builds whose process died as they ended. */
  private async removeLeftFolders(): Promise<void> {
    const sites = await this.folders.sitesOnDisk();
    const known = await this.sites.known(sites);
    for (const id of sites) if (!known.has(id)) await this.folders.removeSite(id);
    const builds = await this.folders.buildsOnDisk();
    const open = await this.old.open(builds);
    for (const id of builds) if (!open.has(id)) await this.folders.removeBuild(id);
  }
}
