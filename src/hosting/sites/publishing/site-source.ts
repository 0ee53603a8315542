import { Injectable } from '@nestjs/common';
import { type Entry, WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../../platform/config/index.js';
import { WorkspaceFolders } from '../../../workspaces/core/index.js';
import { BuildFailure } from '../../builds/index.js';
import type { SiteRow } from '../records/sites.store.js';
import type { Finding } from '../records/versions.store.js';

/** Recreated by builds, or irrelevant to them. */
const LEFT_OUT = new Set(['.git', 'node_modules', '.atelier']);
const MAX_NAMED = 20;

export interface Source {
  /** The whole workspace, which may change meanwhile. */
  readonly files: WorkspaceFs;
  readonly entries: readonly Entry[];
  readonly hasManifest: boolean;
}

@Injectable()
export class SiteSources {
  constructor(
    private readonly config: Config,
    private readonly workspaces: WorkspaceFolders,
  ) {}

  /** Throws BuildFailure. */
  async look(site: SiteRow): Promise<Source> {
    const files = this.workspaces.open({ id: site.workspace_id, number: site.workspace_number });
    const entries = await listFolder(files, site.folder);
    this.requireWithinLimits(entries.filter(({ type }) => type === 'file'));
    const manifest = below(site.folder, 'package.json');
    return { files, entries, hasManifest: entries.some(({ path }) => path === manifest) };
  }

  private requireWithinLimits(files: readonly Entry[]): void {
    const { siteLimits: most } = this.config;
    if (files.length > most.files)
      throw new BuildFailure(
        `The folder has ${files.length} files; a site is made of ${most.files} at most.`,
      );
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    if (bytes > most.bytes)
      throw new BuildFailure(`The folder has ${bytes} bytes; a site is made of ${most.bytes} at most.`);
  }
}

/** Joins paths; '' is the workspace itself. */
export const below = (folder: string, path: string): string =>
  folder === '' || path === '' ? folder || path : `${folder}/${path}`;

/** Findings about files that were left out. */
export function leftOut(skipped: readonly string[], folder: string): Finding[] {
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

async function listFolder(files: WorkspaceFs, folder: string): Promise<Entry[]> {
  try {
    const all = await files.listAll(folder);
    return all.filter(({ path }) => !path.split('/').some(name => LEFT_OUT.has(name)));
  } catch (error) {
    if (error instanceof WorkspaceFsError && ['not_found', 'not_directory', 'symlink'].includes(error.code))
      throw new BuildFailure(`The folder of the site is not there: ${error.message}.`);
    throw error;
  }
}
