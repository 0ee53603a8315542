import { Injectable } from '@nestjs/common';
import { batchesOf, type Entry, WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../../platform/config/index.js';
import { WorkspaceFolders } from '../../../workspaces/core/index.js';
import { BuildFailure } from '../../builds/index.js';
import { SiteFolders } from '../folders/site-folders.js';
import type { SiteRow } from '../records/sites.store.js';
import type { Finding } from '../records/versions.store.js';
import type { BuildReports } from './build-reports.js';

const BATCH = { files: 128, bytes: 16 * 1024 * 1024 };
/** Made anew by builds, or no business of theirs. */
const LEFT_OUT = new Set(['.git', 'node_modules', '.atelier']);
const MAX_NAMED = 20;

/** Copies the folder of a site aside, so that what people write meanwhile is not part of the build. */
@Injectable()
export class Snapshots {
  constructor(
    private readonly config: Config,
    private readonly workspaces: WorkspaceFolders,
    private readonly folders: SiteFolders,
  ) {}

  /** Throws BuildFailure. The copy is below the same path in the folder of the build. */
  async take(
    site: SiteRow,
    versionId: string,
    reports: BuildReports,
    signal: AbortSignal,
  ): Promise<Finding[]> {
    const workspace = { id: site.workspace_id, number: site.workspace_number };
    const source = this.workspaces.open(workspace);
    const entries = await this.entriesOf(source, site);
    const files = entries.filter(({ type }) => type === 'file');
    this.requireWithinLimits(files);
    await this.folders.prepareBuilds();
    const target = await WorkspaceFs.create(this.folders.buildOf(versionId), {
      owner: this.workspaces.ownerOf(workspace),
      maxFileBytes: this.config.siteMaxBytes,
    });
    if (site.folder !== '') await target.mkdir(site.folder);
    const skipped = entries
      .filter(({ type }) => type !== 'file' && type !== 'directory')
      .map(({ path }) => path);
    await this.copy(source, target, entries, { skipped, total: files.length, reports, signal });
    return findingsOf(skipped, site.folder);
  }

  private async entriesOf(source: WorkspaceFs, { folder, output_dir }: SiteRow): Promise<Entry[]> {
    try {
      const output = output_dir ? `${folder ? `${folder}/` : ''}${output_dir}` : null;
      const isLeftOut = (path: string) =>
        path.split('/').some(name => LEFT_OUT.has(name)) || path === output || path.startsWith(`${output}/`);
      // Where there is nothing to build, the output is what there is.
      const all = await source.listAll(folder);
      const within = all.filter(({ path }) => !path.split('/').some(name => LEFT_OUT.has(name)));
      const hasManifest = within.some(
        ({ path }) => path === (folder ? `${folder}/package.json` : 'package.json'),
      );
      return hasManifest ? within.filter(({ path }) => !isLeftOut(path)) : within;
    } catch (error) {
      if (error instanceof WorkspaceFsError && ['not_found', 'not_directory', 'symlink'].includes(error.code))
        throw new BuildFailure(`The folder of the site is not there: ${error.message}.`);
      throw error;
    }
  }

  private requireWithinLimits(files: readonly Entry[]): void {
    const { siteMaxFiles, siteMaxBytes } = this.config;
    if (files.length > siteMaxFiles)
      throw new BuildFailure(
        `The folder has ${files.length} files; a site is made of ${siteMaxFiles} at most.`,
      );
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    if (bytes > siteMaxBytes)
      throw new BuildFailure(`The folder has ${bytes} bytes; a site is made of ${siteMaxBytes} at most.`);
  }

  private async copy(
    source: WorkspaceFs,
    target: WorkspaceFs,
    entries: Entry[],
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

function findingsOf(skipped: readonly string[], folder: string): Finding[] {
  const within = (path: string) => path.slice(folder ? folder.length + 1 : 0);
  const findings: Finding[] = skipped.slice(0, MAX_NAMED).map(path => ({
    level: 'warning',
    file: within(path),
    message: 'A link or special file, or one that was gone or changed all the time: it is left out.',
  }));
  const more = skipped.length - findings.length;
  if (more > 0) findings.push({ level: 'warning', message: `${more} more files are left out.` });
  return findings;
}
