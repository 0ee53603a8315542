import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { WorkspaceFs } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { NamedLeases } from '../../platform/leases/index.js';
import { SandboxWatch, WorkspaceQuota, type Writer } from '../../workspaces/changes/index.js';
import { WorkspaceFolders } from '../../workspaces/core/index.js';
import { BuildEgress } from './build-egress.js';
import type { InstallJob, SandboxJob } from './build-job.js';
import { BuildLog, type LogStream } from './build-log.js';
import { computeFingerprint, Dependencies, type Installed } from './dependencies.js';
import { BuildFailure } from './project/build-failure.js';
import { type InstallFiles, installFiles } from './project/install-files.js';
import { ManifestReader } from './project/manifest-reader.js';
import { detectManager, installCommand, needsInstall } from './project/package-manager.js';

const MODULES = 'node_modules';
/** Holds the fingerprint of the manifests that were installed. */
const MARK = '.installed-from';

export interface FolderProject {
  readonly workspace: SandboxJob['workspace'];
  /** Relative to the workspace. */
  readonly folder: string;
  /** Command that installs; null: detected; empty: nothing is installed. */
  readonly command: string | null;
  readonly id: string;
  readonly writer: Writer;
  readonly onInstall: () => void;
  readonly onLog: (stream: LogStream, text: string) => void;
  readonly signal: AbortSignal;
}

interface Wanted extends InstallFiles {
  readonly project: InstallJob['project'];
  readonly fingerprint: string;
}

/**
 * Installs dependencies into `node_modules` where the project lies, again when manifests change. The installation sees only
 * manifests and runs no scripts.
 */
@Injectable()
export class FolderDependencies {
  constructor(
    private readonly config: Config,
    private readonly leases: NamedLeases,
    private readonly folders: WorkspaceFolders,
    private readonly dependencies: Dependencies,
    private readonly egress: BuildEgress,
    private readonly watch: SandboxWatch,
    private readonly quota: WorkspaceQuota,
  ) {}

  /**
   * Does nothing if they are current, or if a foreign `node_modules` exists and no command is set. Throws BuildFailure, NoRoom,
   * or the abort reason.
   */
  async provide(project: FolderProject): Promise<void> {
    if (!(await this.wanted(project))) return;
    const { workspace, folder, signal } = project;
    await this.leases.hold(`dependencies:${workspace.id}:${folder}`, async () => {
      signal.throwIfAborted();
      // Another process may have installed them meanwhile, and the manifests may have changed.
      const wanted = await this.wanted(project);
      if (wanted) await this.install(project, wanted);
    });
  }

  /** Undefined if nothing has to be installed. */
  private async wanted({ workspace, folder, command }: FolderProject): Promise<Wanted | undefined> {
    if (command?.trim() === '') return undefined;
    const root = this.folders.pathOf(workspace);
    const reader = new ManifestReader(root, folder);
    const manifest = await reader.manifest('package.json');
    if (!manifest) return undefined;
    const manager = await detectManager(reader, manifest, []);
    if (command === null && !needsInstall(manifest, manager)) return undefined;
    const project = { manager, install: command ?? installCommand(manager) };
    const files = await installFiles(reader, manager.lock);
    const fingerprint = computeFingerprint(project, files);
    const mark = await reader.settings(`${MODULES}/${MARK}`);
    if (mark === fingerprint) return undefined;
    if (mark === undefined && command === null && (await hasModules(root, folder))) return undefined;
    return { ...files, project, fingerprint };
  }

  private async install(project: FolderProject, wanted: Wanted): Promise<void> {
    const { workspace, id, signal, onInstall, onLog } = project;
    onInstall();
    await this.egress.requireReachable(workspace.id, wanted.registries);
    const job = { workspace, signal, callerId: null, settings: {}, cacheKey: id, project: wanted.project };
    const log = new BuildLog(onLog);
    await this.dependencies.install(job, log, wanted, installed =>
      this.place(project, wanted.fingerprint, installed),
    );
    log.say('The dependencies are installed.');
  }

  private async place(
    { workspace, folder, writer }: FolderProject,
    fingerprint: string,
    installed: Installed,
  ): Promise<void> {
    const owner = this.folders.ownerOf(workspace);
    const made = new WorkspaceFs(installed.folder, { owner, maxFileBytes: fingerprint.length });
    await made.write(`${MODULES}/${MARK}`, fingerprint);
    const bytes = (await installed.bytes()) ?? 0;
    const { length: files } = await made.listAll('');
    await this.quota.require(workspace.id, { bytes, files });
    const root = this.folders.pathOf(workspace);
    await this.watch.around(workspace.id, writer, this.config.siteBuildLimits.install_seconds, () =>
      installed.moveTo(path.join(root, folder)),
    );
    this.quota.expire(workspace.id);
    const reader = new ManifestReader(root, folder);
    if ((await reader.settings(`${MODULES}/${MARK}`)) === fingerprint) return;
    throw new BuildFailure(
      `The dependencies could not be put into ${MODULES}: is it a link, or the folder gone?`,
    );
  }
}

async function hasModules(root: string, folder: string): Promise<boolean> {
  const files = new WorkspaceFs(root, { maxFileBytes: 0 });
  for (let at = folder; ; at = path.posix.dirname(at)) {
    const isTop = at === '' || at === '.';
    if (await files.find(path.posix.join(isTop ? '' : at, MODULES))) return true;
    if (isTop) return false;
  }
}
