import { Injectable } from '@nestjs/common';
import { batchesOf, type Entry, WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../../platform/config/index.js';
import { WorkspaceFolders } from '../../../workspaces/core/index.js';
import { SiteFolders } from '../folders/site-folders.js';
import type { SiteRow } from '../records/sites.store.js';
import type { Finding } from '../records/versions.store.js';
import type { BuildReports } from './build-reports.js';
import { below, leftOut, type Source } from './site-source.js';

const BATCH = { files: 128, bytes: 16 * 1024 * 1024 };

/** Copies the folder of a site to where its build may change it. */
@Injectable()
export class Snapshots {
  constructor(
    private readonly config: Config,
    private readonly workspaces: WorkspaceFolders,
    private readonly folders: SiteFolders,
  ) {}

  /** Keeps the path of the folder. Leaves out the output of earlier builds. */
  async take(
    site: SiteRow,
    versionId: string,
    source: Source,
    reports: BuildReports,
    signal: AbortSignal,
  ): Promise<Finding[]> {
    await this.folders.prepareBuilds();
    const target = await WorkspaceFs.create(this.folders.buildOf(versionId), {
      owner: this.workspaces.ownerOf({ number: site.workspace_number }),
      maxFileBytes: this.config.siteLimits.bytes,
    });
    if (site.folder !== '') await target.mkdir(site.folder);
    const entries = withoutOutput(source, site);
    const skipped = entries
      .filter(({ type }) => type !== 'file' && type !== 'directory')
      .map(({ path }) => path);
    const total = entries.filter(({ type }) => type === 'file').length;
    await this.copy(source.files, target, entries, { skipped, total, reports, signal });
    return leftOut(skipped, site.folder);
  }

  private async copy(
    source: WorkspaceFs,
    target: WorkspaceFs,
    entries: readonly Entry[],
    {
      skipped,
      total,
      reports,
      signal,
    }: { skipped: string[]; total: number; reports: BuildReports; signal: AbortSignal },
  ): Promise<void> {
    let done = 0;
    for (const batch of batchesOf(entries, BATCH)) {
      signal.throwIfAborted();
      for (const { path, type } of batch) if (type === 'directory') await target.mkdir(path);
      const paths = batch.filter(({ type }) => type === 'file').map(({ path }) => path);
      const outcomes = await target.copyFrom(source, paths);
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome.status === 'fulfilled') continue;
        if (!(outcome.reason instanceof WorkspaceFsError) || outcome.reason.code === 'no_space')
          throw outcome.reason;
        skipped.push(paths[index] ?? '');
      }
      done += paths.length;
      await reports.progress({ phase: 'snapshot', done, total });
    }
  }
}

/** Without a manifest there is nothing to build, and the output folder is the source. */
function withoutOutput({ entries, hasManifest }: Source, { folder, output_dir }: SiteRow): readonly Entry[] {
  if (!output_dir || !hasManifest) return entries;
  const output = below(folder, output_dir);
  return entries.filter(({ path }) => path !== output && !path.startsWith(`${output}/`));
}
