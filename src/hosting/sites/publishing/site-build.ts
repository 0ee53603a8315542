import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { type Entry, WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { BuildFailure, type DetectedProject, ProjectBuilds } from '../../builds/index.js';
import { SiteFolders } from '../folders/site-folders.js';
import type { SiteRow } from '../records/sites.store.js';
import type { BuiltVersion, Finding } from '../records/versions.store.js';
import { Versions } from '../serving/versions.js';
import { SiteStorage } from '../storage/site-storage.js';
import type { BuildReports } from './build-reports.js';
import { Collection, type Output } from './collection.js';
import { below, SiteSources, type Source } from './site-source.js';
import { Snapshots } from './snapshot.js';

interface Building {
  readonly site: SiteRow;
  readonly versionId: string;
  readonly reports: BuildReports;
  readonly signal: AbortSignal;
}

interface Prepared {
  readonly project: DetectedProject;
  readonly output: Output;
  readonly findings: readonly Finding[];
}

/** Builds one version from the folder of a site. */
@Injectable()
export class SiteBuild {
  constructor(
    private readonly sources: SiteSources,
    private readonly snapshots: Snapshots,
    private readonly projects: ProjectBuilds,
    private readonly collection: Collection,
    private readonly versions: Versions,
    private readonly folders: SiteFolders,
    private readonly storage: SiteStorage,
  ) {}

  async forget(siteId: string): Promise<void> {
    await this.folders.removeSite(siteId);
    await this.projects.forget(siteId);
  }

  /** Call when a build failed: its files count until they are removed. */
  measure(site: SiteRow): Promise<void> {
    return this.storage.measure(site);
  }

  clean(versionId: string): Promise<void> {
    return this.folders.removeBuild(versionId);
  }

  /** Removes leftovers of lost attempts first. Throws BuildFailure, or the abort reason. */
  async run(
    site: SiteRow,
    versionId: string,
    reports: BuildReports,
    signal: AbortSignal,
  ): Promise<BuiltVersion> {
    const building = { site, versionId, reports, signal };
    await this.clean(versionId);
    await this.storage.requireNotFull(site);
    await reports.progress({ phase: 'snapshot' }, true);
    const source = await this.sources.look(site);
    const plain = this.projects.plain(site, source.hasManifest);
    const prepared = plain ? await this.taken(building, source, plain) : await this.made(building, source);
    signal.throwIfAborted();
    await reports.progress({ phase: 'collect' }, true);
    const earlier = await this.versions.earlierManifests(site.id);
    const { built, added } = await this.collection.collect({
      ...prepared,
      site,
      earlier,
      reports,
      signal,
    });
    await this.storage.requireRoom(site, added);
    return built;
  }

  /** Publishes the folder as it is, without a snapshot. */
  private async taken(
    { site, reports }: Building,
    { files, entries }: Source,
    project: DetectedProject,
  ): Promise<Prepared> {
    sayWhatItIs(reports, project);
    const types = new Map(entries.map(({ path, type }) => [path, type]));
    const output = await this.projects.outputOf(project, async at => types.get(below(site.folder, at)));
    const root = below(site.folder, output);
    const inOutput = entries.filter(({ path }) => root === '' || path.startsWith(`${root}/`));
    return {
      project,
      output: { files, path: root, ...sorted(inOutput), folder: site.folder, unreadable: 'left out' },
      findings: [],
    };
  }

  private async made({ site, versionId, reports, signal }: Building, source: Source): Promise<Prepared> {
    const findings = await this.snapshots.take(site, versionId, source, reports, signal);
    const folder = path.join(this.folders.buildOf(versionId), site.folder);
    const project = await this.projects.detect(folder, site);
    sayWhatItIs(reports, project);
    const output = await this.projects.run({
      folder,
      project,
      settings: site,
      signal,
      cacheKey: site.id,
      callerId: versionId,
      workspace: {
        id: site.workspace_id,
        number: site.workspace_number,
        organization_id: site.organization_id,
      },
      onPhase: phase => void reports.progress({ phase }, true).catch(() => {}),
      onLog: (stream, text) => reports.print(stream, text),
    });
    const files = new WorkspaceFs(output.folder, { maxFileBytes: 0 });
    const entries = await listOutput(files, output.path);
    return {
      project,
      output: { files, path: output.path, ...sorted(entries), folder: '', unreadable: 'refused' },
      findings,
    };
  }
}

const sayWhatItIs = (reports: BuildReports, { preset }: DetectedProject): void =>
  reports.say(`The folder is taken for: ${preset}.`);

/** Separates regular files from links, devices and pipes. */
function sorted(entries: readonly Entry[]): Pick<Output, 'entries' | 'skipped'> {
  const others = entries.filter(({ type }) => type !== 'file' && type !== 'directory');
  return {
    entries: entries.filter(({ type }) => type === 'file'),
    skipped: others.map(({ path }) => path),
  };
}

async function listOutput(files: WorkspaceFs, path: string): Promise<Entry[]> {
  try {
    return await files.listAll(path);
  } catch (error) {
    if (error instanceof WorkspaceFsError)
      throw new BuildFailure(
        `The build left nothing at ${path || 'the folder'}: ${error.message}. Set output_dir.`,
      );
    throw error;
  }
}
