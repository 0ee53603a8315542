import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { ProjectBuilds, type ProjectSettings } from '../../builds/index.js';
import { SiteFolders } from '../folders/site-folders.js';
import type { SiteRow } from '../records/sites.store.js';
import { type BuiltVersion, VersionsStore } from '../records/versions.store.js';
import { Versions } from '../serving/versions.js';
import { SiteStorage } from '../storage/site-storage.js';
import type { BuildReports } from './build-reports.js';
import { Collection } from './collection.js';
import { Snapshots } from './snapshot.js';

const EARLIER_DAYS = 14;
const MAX_EARLIER = 10;

/** One build: a snapshot of the folder, what has to be installed and built, and what comes out of it. */
@Injectable()
export class SiteBuild {
  constructor(
    private readonly snapshots: Snapshots,
    private readonly projects: ProjectBuilds,
    private readonly collection: Collection,
    private readonly rows: VersionsStore,
    private readonly versions: Versions,
    private readonly folders: SiteFolders,
    private readonly storage: SiteStorage,
  ) {}

  /** Removes what is kept for builds of a site. */
  forget(siteId: string): Promise<void> {
    return this.projects.forget(siteId);
  }

  /** Throws BuildFailure, or the reason of the signal. What a lost attempt left is removed first. */
  async run(
    site: SiteRow,
    versionId: string,
    reports: BuildReports,
    signal: AbortSignal,
  ): Promise<BuiltVersion> {
    await this.folders.removeBuild(versionId);
    await this.storage.requireNotFull(site);
    await reports.progress({ phase: 'snapshot' }, true);
    const findings = await this.snapshots.take(site, versionId, reports, signal);
    const folder = path.join(this.folders.buildOf(versionId), site.folder);
    const settings: ProjectSettings = site;
    const project = await this.projects.detect(folder, settings);
    reports.say(`The folder is taken for: ${project.preset}.`);
    const output = await this.projects.run({
      ...{ folder, project, settings, signal, cacheKey: site.id, callerId: versionId },
      workspace: {
        id: site.workspace_id,
        number: site.workspace_number,
        organization_id: site.organization_id,
      },
      onPhase: phase => void reports.progress({ phase }, true).catch(() => {}),
      onLog: (stream, text) => reports.print(stream, text),
    });
    signal.throwIfAborted();
    await reports.progress({ phase: 'collect' }, true);
    const before = await this.rows.servedBefore(site.id, 0, EARLIER_DAYS, MAX_EARLIER);
    const earlier = await Promise.all(
      before.flatMap(({ manifest_hash }) =>
        manifest_hash ? [this.versions.manifest(site.id, manifest_hash)] : [],
      ),
    );
    const built = await this.collection.collect({
      site,
      project,
      output,
      earlier,
      findings,
      reports,
      signal,
    });
    await this.storage.requireRoom(site);
    return built;
  }
}
